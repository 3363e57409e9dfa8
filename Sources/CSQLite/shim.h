#pragma once
#include <sqlite3.h>

/* SQLITE_TRANSIENT is a cast, which Swift does not import. */
static inline int coffer_sqlite_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, int count) {
    return sqlite3_bind_blob(statement, index, count == 0 ? "" : bytes, count, SQLITE_TRANSIENT);
}

/* Variadic, which Swift does not import. */
static inline int coffer_sqlite_configure(sqlite3 *database, int option, int value) {
    return sqlite3_db_config(database, option, value, (int *)0);
}
