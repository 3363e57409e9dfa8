# git and builds. Read by Tests/applications.sh.
# shellcheck shell=bash

in_git() { git -c user.name=Tester -c user.email=tester@example.org -c core.fsync=all -c core.fsyncMethod=fsync "$@"; }

# The same history in the repository $1, in commits of some files each.
commit_headers() {
    local repository=$1 letter
    for letter in a b c d e f g h i; do
        mkdir -p "$repository/$letter" && cp "$work/sample/headers/$letter"*.h "$repository/$letter" || return
        in_git -C "$repository" add . || return
        GIT_AUTHOR_DATE='2001-01-01T00:00:00Z' GIT_COMMITTER_DATE='2001-01-01T00:00:00Z' \
            in_git -C "$repository" commit -qm "Headers $letter" || return
    done
}

check_git() {
    in_git init -q "$work/origin" && commit_headers "$work/origin" || { failed "git outside of the mount"; return; }
    hold "git clone" in_git clone -q --no-local "$work/origin" "$vault/clone"
    in_git init -q "$vault/repository"
    hold "git commit" commit_headers "$vault/repository"
    hold "git gc" in_git -C "$vault/repository" gc -q --prune=now --aggressive
    mount_anew
    hold "git fsck --full" in_git -C "$vault/repository" fsck --full --strict
    hold "git fsck --full of the clone" in_git -C "$vault/clone" fsck --full --strict
    hold "git status is clean" test -z "$(in_git -C "$vault/repository" status --porcelain)"
    hold "the history is that made outside" test "$(in_git -C "$vault/repository" rev-parse HEAD)" = \
        "$(in_git -C "$work/origin" rev-parse HEAD)"
    crash_while_git_commits
    rm -rf "$vault/repository" "$vault/clone" "$work/origin"
}

commit_until_it_fails() {
    local number
    for ((number = 1; ; number++)); do
        echo "$number" >"$vault/clone/number" && in_git -C "$vault/clone" add number &&
            in_git -C "$vault/clone" commit -qm "$number" && in_git -C "$vault/clone" rev-parse HEAD || return
    done >"$work/commits" 2>/dev/null
}

crash_while_git_commits() {
    local committer
    : >"$work/commits"
    commit_until_it_fails &
    committer=$!
    wait_for_lines "$work/commits" 8
    crash_and_mount wait "$committer"
    rm -f "$vault/clone/.git"/*.lock "$vault/clone/.git/refs/heads"/*.lock
    hold "git fsck --full after a crash" in_git -C "$vault/clone" fsck --full --strict
    # The last rename of a reference has no fsync of its own: the commit before it is there at the least.
    hold "git's commits after a crash" in_git -C "$vault/clone" merge-base --is-ancestor \
        "$(tail -n 2 "$work/commits" | head -n 1)" HEAD
}

compiler() { command -v cc || command -v gcc || command -v clang; }

build_own_sources() {
    local place=$1
    mkdir -p "$place" && cp -r "$here/Tests/CFilesystemCalls" "$here/Sources/CCofferSystem" "$place" || return
    cat >"$place/Makefile" <<'MAKE'
SOURCES := $(shell find . -name '*.c')
library.a: $(SOURCES:.c=.o)
	rm -f $@ && ar rcsD $@ $(sort $^)
%.o: %.c
	$(CC) -O1 -fPIC -ffile-prefix-map=$(CURDIR)=. -I$(dir $<)include -D_GNU_SOURCE -c -o $@ $<
MAKE
    make -s -j2 -C "$place" CC="$(compiler)" library.a
}

check_build() {
    { command -v make && command -v ar && compiler; } >/dev/null || { leave_out "a build with make"; return; }
    build_own_sources "$work/build" >"$work/output" 2>&1 || { cat "$work/output"; failed "a build outside of the mount"; }
    hold "a build with make -j2" build_own_sources "$vault/build"
    mount_anew
    hold "its output is that of a build outside" cmp "$work/build/library.a" "$vault/build/library.a"
    hold "make finds nothing to do" make -q -C "$vault/build" CC="$(compiler)" library.a
    rm -rf "$vault/build" "$work/build"
}

# Debian's sources of zlib, by lists of packages of our own.
fetch_source() {
    local lists=$work/apt-lists file options
    mkdir -p "$lists/lists/partial" "$lists/parts" "$work/source" || return
    for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.sources /etc/apt/sources.list.d/*.list; do
        [ -s "$file" ] || continue
        sed -e 's/^deb /deb-src /' -e 's/^Types: .*/Types: deb-src/' "$file" >"$lists/parts/${file##*/}"
    done
    options=(-qq -o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$lists/parts" -o "Dir::State::lists=$lists/lists"
        -o "Dir::Cache=$lists" -o APT::Sandbox::User=root)
    apt-get "${options[@]}" update && cd "$work/source" && apt-get "${options[@]}" source zlib
}

build_zlib() {
    mkdir -p "$1" && cp -a "$work/source"/zlib-*/. "$1" && cd "$1" || return
    CC=$(compiler) CFLAGS="-O2 -ffile-prefix-map=$1=." ./configure --static && make -j2 libz.a minigzip example && make test
}

check_source_package() {
    if ! have dpkg-source dpkg-dev || ! (fetch_source) >"$work/output" 2>&1; then
        leave_out "a build of zlib, whose sources could not be fetched"
        return
    fi
    (build_zlib "$work/zlib") >"$work/output" 2>&1 || { failed "a build of zlib outside of the mount"; return; }
    hold "zlib is configured, built and tested in the mount" in_subshell build_zlib "$vault/zlib"
    mount_anew
    for file in libz.a minigzip example; do
        hold "$file is that of a build outside" cmp "$work/zlib/$file" "$vault/zlib/$file"
    done
    rm -rf "$vault/zlib"
}

in_subshell() { ("$@"); }
