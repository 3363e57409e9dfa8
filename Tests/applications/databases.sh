# Databases that are killed, and whose disk is killed below them. Read by Tests/applications.sh.
# shellcheck shell=bash

# MARK: SQLite

# Transfers of money from one account to another, from number $1 on; each says when it is committed.
sqlite_transfers() {
    local number
    # Each connection begins in mode delete, unless the file is in mode wal. With FULL the removal of a journal, which is
    # the commit in mode delete, would not be made durable.
    echo "PRAGMA journal_mode = $mode; PRAGMA synchronous = EXTRA; PRAGMA busy_timeout = 10000;"
    for ((number = $1; ; number++)); do
        echo "BEGIN IMMEDIATE; INSERT INTO transfers VALUES ($number, hex(randomblob(400)));" \
            "UPDATE accounts SET balance = balance - $number WHERE id = $((number % 7));" \
            "UPDATE accounts SET balance = balance + $number WHERE id = $((number % 11));" \
            "COMMIT; SELECT 'committed', $number;" || return
    done 2>/dev/null
}

# Every transfer that was said to be committed is there, money is neither made nor lost, and no page is hurt.
#
# In mode delete the last one may be missing: SQLite makes the removal of the journal durable by fsync of the directory,
# but says nothing if the directory cannot be opened any more, since the mount was killed right before.
sqlite_is_sound() {
    local last found
    last=$(grep -a ^committed "$work/committed" | tail -n 1 | cut -d '|' -f 2)
    found=$(sqlite3 "$vault/$mode.db" "PRAGMA integrity_check; SELECT sum(balance) FROM accounts;
        SELECT count(*) FROM transfers WHERE id <= $last;")
    echo "committed $last, found" "$found"
    [ "$found" = $'ok\n0\n'"$last" ] && return
    [ "$mode" = delete ] && [ "$found" = $'ok\n0\n'"$((last - 1))" ]
}

# Lets a writer work, and calls $1 with its process, which ends it.
sqlite_loses() {
    local from
    from=$(sqlite3 "$vault/$mode.db" "SELECT coalesce(max(id), 0) + 1 FROM transfers")
    : >"$work/committed"
    stdbuf -oL sqlite3 -bail "$vault/$mode.db" < <(sqlite_transfers "$from") >"$work/committed" 2>"$work/output" &
    wait_for_lines "$work/committed" 60
    "$1" end_process $!
}

check_sqlite() {
    local mode modes=(truncate wal)
    [ -n "$quick" ] || modes+=(delete)
    have sqlite3 sqlite3 || { leave_out "SQLite"; return; }
    for mode in "${modes[@]}"; do
        sqlite3 "$vault/$mode.db" "PRAGMA journal_mode = $mode; CREATE TABLE accounts (id INTEGER PRIMARY KEY, balance);
            CREATE TABLE transfers (id INTEGER PRIMARY KEY, text UNIQUE);
            WITH RECURSIVE ids(id) AS (SELECT 0 UNION ALL SELECT id + 1 FROM ids LIMIT 11)
            INSERT INTO accounts SELECT id, 0 FROM ids;" >/dev/null || failed "SQLite in mode $mode"
        sqlite_loses now
        hold "SQLite in mode $mode, its writer killed" sqlite_is_sound
        sqlite_loses crash_and_mount
        hold "SQLite in mode $mode, the mount killed" sqlite_is_sound
        hold "SQLite in mode $mode, four writers at once" write_sqlite_together
        mount_anew
        hold "SQLite in mode $mode, mounted anew" sqlite_is_sound
    done
}

# The locks of SQLite are those of fcntl, its WAL index is a mapping that all processes share.
write_sqlite_together() {
    local process processes=()
    sqlite3 "$vault/$mode.db" "CREATE TABLE counts (number INTEGER); INSERT INTO counts VALUES (0)" || return
    for process in 1 2 3 4; do
        for _ in {1..25}; do
            echo "BEGIN IMMEDIATE; UPDATE counts SET number = number + 1; COMMIT;"
        done | sqlite3 -bail -cmd '.timeout 30000' "$vault/$mode.db" &
        processes+=($!)
    done
    for process in "${processes[@]}"; do wait "$process" || return; done
    [ "$(sqlite3 "$vault/$mode.db" 'SELECT number FROM counts')" = 100 ]
}

# MARK: LevelDB

check_leveldb() {
    local writer
    if ! have /usr/bin/python3 python3 || ! { /usr/bin/python3 -c 'import plyvel' 2>/dev/null ||
        { have /nonexistent python3-plyvel; /usr/bin/python3 -c 'import plyvel'; }; }; then
        leave_out "LevelDB"
        return
    fi
    : >"$work/committed"
    /usr/bin/python3 "$here/Tests/applications/leveldb.py" write "$vault/level" >"$work/committed" 2>"$work/output" &
    writer=$!
    wait_for_lines "$work/committed" 200
    end_process "$writer"
    hold "LevelDB, its writer killed" /usr/bin/python3 "$here/Tests/applications/leveldb.py" check "$vault/level" \
        "$(tail -n 1 "$work/committed")"
    /usr/bin/python3 "$here/Tests/applications/leveldb.py" write "$vault/level" >"$work/committed" 2>"$work/output" &
    writer=$!
    wait_for_lines "$work/committed" 200
    crash_and_mount end_process "$writer"
    hold "LevelDB, the mount killed" /usr/bin/python3 "$here/Tests/applications/leveldb.py" check "$vault/level" \
        "$(tail -n 1 "$work/committed")"
}

# MARK: PostgreSQL

postmaster=''

as_postgres() { (cd / && exec runuser -u postgres -- "$@"); }
query() { as_postgres "$postgres/psql" -X -q -A -t -h "$work/socket" -d postgres "$@"; }

start_postgres() {
    as_postgres "$postgres/pg_ctl" start -w -t 60 -s -D "$vault/postgres" -l "$work/socket/log" \
        -o "-c listen_addresses='' -k $work/socket" >"$work/output" 2>&1 || return
    postmaster=$(head -n 1 "$vault/postgres/postmaster.pid")
}

# kill -9 of the first process and of all that it started.
kill_postgres() {
    local process processes
    [ -n "$postmaster" ] || return 0
    processes=$(pgrep -P "$postmaster")
    for process in $postmaster $processes; do kill -KILL "$process" 2>/dev/null; done
    for process in $postmaster $processes; do
        while kill -0 "$process" 2>/dev/null; do sleep 0.05; done
    done
    postmaster=''
}

postgres_rows() {
    local number
    for ((number = 1; ; number++)); do
        echo "INSERT INTO rows VALUES (DEFAULT, repeat(md5('$number'), 20)) RETURNING 'committed|' || id;" || return
    done 2>/dev/null
}

# pgbench, and a writer that says which of its rows is committed; then $1…, which ends PostgreSQL.
postgres_loses() {
    local benchmark writer
    : >"$work/committed"
    as_postgres "$postgres/pgbench" -h "$work/socket" -n -c 3 -T 600 postgres >/dev/null 2>&1 &
    benchmark=$!
    query -v ON_ERROR_STOP=1 < <(postgres_rows) >"$work/committed" 2>"$work/output" &
    writer=$!
    wait_for_lines "$work/committed" 300
    "$@"
    wait "$writer" "$benchmark"
}

postgres_is_sound() {
    local last sums
    last=$(tail -n 1 "$work/committed" | cut -d '|' -f 2)
    sums=$(query -c "SELECT (SELECT sum(abalance) FROM pgbench_accounts) = (SELECT coalesce(sum(delta), 0) FROM pgbench_history)
        AND (SELECT sum(bbalance) FROM pgbench_branches) = (SELECT sum(tbalance) FROM pgbench_tellers)
        AND (SELECT sum(bbalance) FROM pgbench_branches) = (SELECT coalesce(sum(delta), 0) FROM pgbench_history)
        AND EXISTS (SELECT FROM rows WHERE id = $last)") || return
    echo "balances and the last committed row $last: $sums"
    [ "$sums" = t ] || return
    as_postgres "$postgres/pg_amcheck" -h "$work/socket" --heapallindexed --parent-check postgres
}

check_postgres() {
    local postgres
    [ "$(id -u)" -eq 0 ] || { leave_out "PostgreSQL, which takes root to become its user"; return; }
    postgres=$(find /usr/lib/postgresql -maxdepth 2 -name bin 2>/dev/null | sort -V | tail -n 1)
    if [ -z "$postgres" ]; then
        # The package is not to make a database of its own, nor to start it.
        [ -e /etc/postgresql-common/createcluster.conf ] ||
            { mkdir -p /etc/postgresql-common && echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.conf; }
        have /nonexistent postgresql
        postgres=$(find /usr/lib/postgresql -maxdepth 2 -name bin 2>/dev/null | sort -V | tail -n 1)
    fi
    [ -x "$postgres/pg_amcheck" ] || { leave_out "PostgreSQL"; return; }
    mkdir "$vault/postgres" "$work/socket" && chown postgres: "$vault/postgres" "$work/socket" && chmod 700 "$vault/postgres"
    hold "PostgreSQL: initdb" as_postgres "$postgres/initdb" -k -A trust -D "$vault/postgres"
    start_postgres || { cat "$work/socket/log"; failed "PostgreSQL does not start"; return; }
    query -c 'CREATE EXTENSION amcheck; CREATE TABLE rows (id SERIAL PRIMARY KEY, text TEXT)' || failed "psql"
    hold "PostgreSQL: pgbench -i" as_postgres "$postgres/pgbench" -q -i -s 3 -h "$work/socket" postgres
    postgres_loses kill_postgres
    start_postgres || { tail "$work/socket/log"; failed "PostgreSQL does not start after kill -9"; return; }
    hold "PostgreSQL, killed: balances, committed rows, indexes" postgres_is_sound
    postgres_loses crash_and_mount kill_postgres
    start_postgres || { tail "$work/socket/log"; failed "PostgreSQL does not start after a crash of the mount"; return; }
    hold "PostgreSQL, the mount killed: balances, committed rows, indexes" postgres_is_sound
    as_postgres "$postgres/pg_ctl" stop -s -w -m fast -D "$vault/postgres"
    postmaster=''
    mount_anew
    hold "PostgreSQL: checksums of all pages, mounted anew" as_postgres "$postgres/pg_checksums" --check -D "$vault/postgres"
}
