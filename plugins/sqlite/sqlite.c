/* Queries and changes SQLite databases. A call opens one database, alone: WASI has no locks of files, so that the host's locks exclude other
 * calls. Statements can neither open other files nor load code, and results are bounded. */
#define BULKHEAD_IMPLEMENTATION
#include "bulkhead.h"

#include "sqlite3-binding.h"

enum {
    MAX_RESULT = 512 << 10, /* bytes of the JSON of rows */
    MAX_PAGES = 1 << 18,    /* pages of a database that grows: 1 GiB with pages of 4 KiB */
    DEFAULT_LIMIT = 100,    /* rows of a result, if the call does not say */
};

/* An open database. */
typedef struct {
    sqlite3 *connection;
    bool reads;          /* whether the call only reads */
    bool own;            /* whether the statement is one of this file */
    const char *refused; /* why the authorizer refused the statement; NULL: it did not */
} database;

static void fail(bh_call *call, database *db) {
    const char *message = sqlite3_errmsg(db->connection);
    switch (sqlite3_extended_errcode(db->connection)) {
    case SQLITE_READONLY_ROLLBACK:
    case SQLITE_READONLY_RECOVERY:
    case SQLITE_READONLY_CANTINIT:
        bh_fail(call, bh_format("%s: a write was interrupted, and is rolled back when the plugin may write the directory of the database: grant it with access \"rw\"", message));
        return;
    case SQLITE_FULL:
        bh_fail(call, bh_format("%s: the disk is full, or the database would have more than %d pages", message, MAX_PAGES));
        return;
    }
    bh_fail(call, db->refused ? bh_str(db->refused) : bh_str(message));
}

/* What statements may do. */

static bool is_one_of(const char *name, const char *const *names) {
    for (; *names; names++) {
        if (sqlite3_stricmp(name, *names) == 0) {
            return true;
        }
    }
    return false;
}

/* These pragmas report. */
static const char *const reports[] = {"collation_list", "compile_options", "data_version", "database_list", "foreign_key_check", "foreign_key_list",
    "freelist_count", "function_list", "index_info", "index_list", "index_xinfo", "integrity_check", "module_list", "page_count", "pragma_list",
    "quick_check", "table_info", "table_list", "table_xinfo", NULL};
/* These report without an argument. */
static const char *const settings[] = {"application_id", "auto_vacuum", "defer_foreign_keys", "encoding", "foreign_keys", "journal_mode", "page_size",
    "recursive_triggers", "schema_version", "user_version", NULL};
/* These can be set, too. */
static const char *const writable[] = {"application_id", "defer_foreign_keys", "recursive_triggers", "user_version", NULL};

static const char *refusal(const database *db, int action, const char *first, const char *second) {
    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
        return NULL;
    case SQLITE_FUNCTION:
        return sqlite3_stricmp(second, "fts3_tokenizer") == 0 || sqlite3_stricmp(second, "load_extension") == 0 ? "functions that load code are refused" : NULL;
    case SQLITE_ATTACH:
    case SQLITE_DETACH:
        return "ATTACH, DETACH and VACUUM are refused: a call uses one database";
    case SQLITE_TRANSACTION:
        return "BEGIN, COMMIT and ROLLBACK are refused: a call is one transaction";
    case SQLITE_PRAGMA:
        if (is_one_of(first, reports) || (is_one_of(first, settings) && !second) || (is_one_of(first, writable) && !db->reads)) {
            return NULL;
        }
        return bh_format("PRAGMA %s is refused%s", first, is_one_of(first, settings) ? " with an argument" : "").at;
    }
    return db->reads ? "a query only reads: use sqlite_execute to write" : NULL;
}

static int authorize(void *context, int action, const char *first, const char *second, const char *schema, const char *trigger) {
    (void)schema, (void)trigger;
    database *db = context;
    if (db->own) {
        return SQLITE_OK;
    }
    const char *reason = refusal(db, action, first, second);
    if (reason) {
        db->refused = reason;
    }
    return reason ? SQLITE_DENY : SQLITE_OK;
}

/* Runs statements of this file. */
static bool run(database *db, const char *sql) {
    db->own = true;
    int result = sqlite3_exec(db->connection, sql, NULL, NULL, NULL);
    db->own = false;
    return result == SQLITE_OK;
}

/* Opening. */

static int randomness(sqlite3_vfs *vfs, int n, char *out) {
    (void)vfs;
    for (int at = 0; at < n; at += 256) {
        if (getentropy(out + at, (size_t)(n - at < 256 ? n - at : 256)) != 0) {
            return at;
        }
    }
    return n;
}

/* The VFS without locks, with WASI's random numbers instead of those of /dev/urandom. */
static const char *file_system(void) {
    static sqlite3_vfs vfs;
    if (!vfs.zName && sqlite3_initialize() == SQLITE_OK) {
        vfs = *sqlite3_vfs_find("unix-none");
        vfs.zName = "bulkhead";
        vfs.xRandomness = randomness;
        sqlite3_vfs_register(&vfs, 1); /* SQLite gets random numbers from the default */
    }
    return vfs.zName;
}

static bh_string absolute(bh_string path) {
    if (path.at[0] == '/') {
        return path;
    }
    const char *project = getenv("BULKHEAD_PROJECT");
    return bh_format("%s/%s", project ? project : "", path.at);
}

/* Excludes other calls for the database, whose path has no symbolic links. The directory is locked too if the plugin may write it, because
 * the hosts of other users may write it. */
static bool lock(bh_call *call, const char *path) {
    uint64_t hash = 0xcbf29ce484222325; /* FNV-1a: calls whose paths collide only wait for each other */
    const char *slash = path;
    for (const char *at = path; *at; at++) {
        hash = (hash ^ (unsigned char)*at) * 0x100000001b3;
        slash = *at == '/' ? at : slash;
    }
    bh_string name = bh_format("%016llx", (unsigned long long)hash);
    bh_string directory = bh_format("%.*s", (int)(slash == path ? 1 : slash - path), path);
    bh_answer answer = bh_lock(name.at, directory.at);
    if (answer.code.at && bh_equal(answer.code, "denied")) {
        answer = bh_lock(name.at, NULL);
    }
    if (answer.code.at) {
        bh_fail(call, bh_format("the database cannot be locked: %s", answer.message.at));
    }
    return !answer.code.at;
}

/* Returns what is wrong with the header of a database; NULL: nothing, or there is no file yet. */
static const char *header_problem(const char *path) {
    FILE *file = fopen(path, "r");
    if (!file) {
        return NULL;
    }
    unsigned char header[20];
    size_t n = fread(header, 1, sizeof header, file);
    fclose(file);
    if (n > 0 && (n < sizeof header || memcmp(header, "SQLite format 3", 16) != 0)) {
        return "is not an SQLite database, or it is encrypted";
    }
    if (n > 0 && (header[18] == 2 || header[19] == 2)) {
        return "has a write-ahead log, which needs memory that programs share: end the programs that use it, and run sqlite3 FILE 'PRAGMA journal_mode = DELETE'";
    }
    return NULL;
}

static uint32_t big_endian(const unsigned char *at) { return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3]; }

/* Returns what is wrong with the journal of a database; NULL: nothing, or there is none. The roll back of a transaction first makes the
 * database as large as the header of its journal says, whatever max_page_count is. */
static const char *journal_problem(const char *path) {
    static const unsigned char magic[8] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};
    FILE *journal = fopen(bh_format("%s-journal", path).at, "r"), *file = fopen(path, "r");
    unsigned char header[28];
    bool complete = journal && fread(header, 1, sizeof header, journal) == sizeof header && memcmp(header, magic, sizeof magic) == 0;
    int64_t size = file && fseeko(file, 0, SEEK_END) == 0 ? ftello(file) : 0;
    if (journal) {
        fclose(journal);
    }
    if (file) {
        fclose(file);
    }
    int64_t pages = complete ? big_endian(header + 16) : 0, page_size = complete ? big_endian(header + 24) : 0;
    return pages > MAX_PAGES && (page_size == 0 || pages > size / page_size) ? "has a journal with which it would have more pages than are possible: restore the database, or remove the journal" : NULL;
}

static void restrict_statements(database *db) {
    sqlite3_db_config(db->connection, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(db->connection, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(db->connection, SQLITE_DBCONFIG_ENABLE_FKEY, 1, NULL);
    sqlite3_limit(db->connection, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_limit(db->connection, SQLITE_LIMIT_LENGTH, 16 << 20);
    sqlite3_set_authorizer(db->connection, authorize, db);
}

/* Opens the database of a call; the caller closes it, whatever the result. The first read rolls back a transaction that was interrupted. */
static bool open_database(bh_call *call, bh_json arguments, bool reads, database *db) {
    bh_string path = absolute(bh_string_of(bh_member(arguments, "database")));
    *db = (database){.reads = reads};
    if (strlen(path.at) != path.length) {
        bh_fail(call, bh_str("a path contains no NUL"));
        return false;
    }
    bool create = !reads && bh_bool_of(bh_member(arguments, "create"), false);
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_EXRESCODE | (create ? SQLITE_OPEN_CREATE : 0);
    if (sqlite3_open_v2(path.at, &db->connection, flags, file_system()) != SQLITE_OK) {
        bh_fail(call, bh_format("%s: %s: it does not exist, or its directory is not granted%s", path.at, sqlite3_errmsg(db->connection),
            create ? "" : "; sqlite_execute with create = true creates a database"));
        return false;
    }
    const char *resolved = sqlite3_db_filename(db->connection, "main");
    if (!lock(call, resolved)) {
        return false;
    }
    const char *problem = header_problem(resolved);
    if (!problem) {
        problem = journal_problem(resolved);
    }
    if (problem) {
        bh_fail(call, bh_format("%s %s", resolved, problem));
        return false;
    }
    restrict_statements(db);
    if (!run(db, bh_format("PRAGMA max_page_count = %d; PRAGMA cache_size = -16384; SELECT count(*) FROM sqlite_schema", MAX_PAGES).at)) {
        fail(call, db);
        return false;
    }
    return true;
}

/* Statements. */

static bool bind_one(sqlite3_stmt *statement, int i, bh_json value) {
    switch (value.at[0]) {
    case 'n':
        return sqlite3_bind_null(statement, i) == SQLITE_OK;
    case 't':
    case 'f':
        return sqlite3_bind_int(statement, i, value.at[0] == 't') == SQLITE_OK;
    case '"': {
        bh_string text = bh_string_of(value);
        return sqlite3_bind_text64(statement, i, text.at, text.length, SQLITE_STATIC, SQLITE_UTF8) == SQLITE_OK;
    }
    }
    int64_t integer = bh_integer_of(value, 0);
    if (integer == bh_integer_of(value, 1)) {
        return sqlite3_bind_int64(statement, i, integer) == SQLITE_OK;
    }
    return sqlite3_bind_double(statement, i, bh_number_of(value, 0)) == SQLITE_OK;
}

static bool bind(bh_call *call, database *db, sqlite3_stmt *statement, bh_json parameters) {
    int given = 0, wanted = sqlite3_bind_parameter_count(statement);
    for (bh_json value = bh_next(parameters, BH_ABSENT, NULL); value.length; value = bh_next(parameters, value, NULL)) {
        if (++given <= wanted && !bind_one(statement, given, value)) {
            fail(call, db);
            return false;
        }
    }
    if (given != wanted) {
        bh_fail(call, bh_format("the statement has %d parameters, and the call %d", wanted, given));
    }
    return given == wanted;
}

/* Writes a value of the row. What JSON lacks is an object: {"base64": …}, {"real": "Infinity"}. */
static void put_column(bh_writer *w, sqlite3_stmt *statement, int i) {
    switch (sqlite3_column_type(statement, i)) {
    case SQLITE_INTEGER:
        bh_put_integer(w, sqlite3_column_int64(statement, i));
        return;
    case SQLITE_FLOAT: {
        double value = sqlite3_column_double(statement, i);
        if (isfinite(value)) {
            bh_put_number(w, value);
            return;
        }
        bh_open(w, '{');
        bh_key(w, "real");
        bh_put_string(w, bh_str(value > 0 ? "Infinity" : "-Infinity"));
        bh_close(w, '}');
        return;
    }
    case SQLITE_TEXT: {
        const char *text = (const char *)sqlite3_column_text(statement, i);
        bh_put_string(w, (bh_string){text, (size_t)sqlite3_column_bytes(statement, i)});
        return;
    }
    case SQLITE_BLOB: {
        const char *bytes = sqlite3_column_blob(statement, i);
        bh_open(w, '{');
        bh_key(w, "base64");
        bh_put_base64(w, (bh_string){bytes ? bytes : "", (size_t)sqlite3_column_bytes(statement, i)});
        bh_close(w, '}');
        return;
    }
    }
    bh_put_json(w, BH_ABSENT);
}

/* Writes the columns and rows of a statement as members of an object. The statement runs to its end if it writes, also if there are more rows
 * than are returned. */
static bool put_rows(bh_call *call, database *db, sqlite3_stmt *statement, int64_t limit, bh_writer *w) {
    int columns = sqlite3_column_count(statement), result;
    bh_key(w, "columns");
    bh_open(w, '[');
    for (int i = 0; i < columns; i++) {
        bh_put_string(w, bh_str(sqlite3_column_name(statement, i)));
    }
    bh_close(w, ']');
    bh_key(w, "rows");
    bh_open(w, '[');
    int64_t rows = 0;
    bool truncated = false;
    while ((result = sqlite3_step(statement)) == SQLITE_ROW) {
        int64_t size = 0;
        for (int i = 0; i < columns; i++) {
            size += sqlite3_column_bytes(statement, i); /* converts numbers to text, which does not change their type */
        }
        if (rows == 0 && size > MAX_RESULT) {
            bh_fail(call, bh_format("a row has more than %d bytes: select parts of its values with substr()", MAX_RESULT));
            return false;
        }
        truncated = truncated || rows == limit || (int64_t)w->length + size > MAX_RESULT;
        if (truncated && sqlite3_stmt_readonly(statement)) {
            break;
        }
        if (truncated) {
            continue;
        }
        bh_open(w, '[');
        for (int i = 0; i < columns; i++) {
            put_column(w, statement, i);
        }
        bh_close(w, ']');
        rows++;
    }
    bh_close(w, ']');
    if (truncated) {
        bh_key(w, "truncated");
        bh_put_bool(w, true);
    }
    if (result != SQLITE_DONE && result != SQLITE_ROW) {
        fail(call, db);
        return false;
    }
    return true;
}

/* Compiles the first statement of *sql, and advances *sql behind it; NULL without an error: there is none. */
static bool prepare(bh_call *call, database *db, const char **sql, sqlite3_stmt **statement) {
    do {
        db->refused = NULL;
        if (sqlite3_prepare_v2(db->connection, *sql, -1, statement, sql) != SQLITE_OK) {
            fail(call, db);
            return false;
        }
    } while (!*statement && **sql); /* a comment, or an empty statement */
    return true;
}

static bool query_rows(bh_call *call, database *db, bh_string sql, bh_json parameters, int64_t limit, bh_writer *w) {
    sqlite3_stmt *statement = NULL, *second = NULL;
    const char *rest = sql.at;
    bool ok = prepare(call, db, &rest, &statement) && prepare(call, db, &rest, &second);
    if (ok && (!statement || second || strlen(sql.at) != sql.length)) {
        bh_fail(call, bh_str("a query is one statement, without NUL"));
        ok = false;
    }
    ok = ok && bind(call, db, statement, parameters) && put_rows(call, db, statement, limit, w);
    sqlite3_finalize(statement);
    sqlite3_finalize(second);
    return ok;
}

static void respond(bh_call *call, bh_string sql, bh_json arguments, bh_json parameters, int64_t limit) {
    database db;
    bh_writer w = {0};
    bh_open(&w, '{');
    bool ok = open_database(call, arguments, true, &db) && query_rows(call, &db, sql, parameters, limit, &w);
    sqlite3_close(db.connection);
    bh_close(&w, '}');
    if (ok) {
        bh_structured(call, bh_written(&w));
    }
}

/* Tools. The host has validated the arguments against the schemas in plugin.toml. */

static int64_t limit_of(bh_json arguments) { return bh_integer_of(bh_member(arguments, "limit"), DEFAULT_LIMIT); }

static void query(bh_call *call, bh_json arguments) {
    respond(call, bh_string_of(bh_member(arguments, "sql")), arguments, bh_member(arguments, "parameters"), limit_of(arguments));
}

static void schema(bh_call *call, bh_json arguments) {
    bh_writer parameters = {0};
    bh_open(&parameters, '[');
    bh_put_json(&parameters, bh_member(arguments, "table"));
    bh_close(&parameters, ']');
    respond(call, bh_str("SELECT type, name, tbl_name AS \"table\", sql FROM sqlite_schema WHERE sql IS NOT NULL AND (?1 IS NULL OR tbl_name = ?1 COLLATE NOCASE) "
                         "ORDER BY type = 'table' DESC, name"),
        arguments, bh_written(&parameters), 10000);
}

/* Runs statements inside a transaction. Of the last one with columns, the rows are written as the member result. */
static bool execute_all(bh_call *call, database *db, bh_string sql, bh_json parameters, int64_t limit, bh_json *last) {
    const char *rest = sql.at;
    for (int count = 0;; count++) {
        sqlite3_stmt *statement;
        if (!prepare(call, db, &rest, &statement)) {
            return false;
        }
        if (!statement) {
            if (count == 0) {
                bh_fail(call, bh_str("there is no statement"));
            }
            return count > 0;
        }
        bh_writer w = {0};
        bool rows = sqlite3_column_count(statement) > 0;
        bool ok = count == 0 || !bh_next(parameters, BH_ABSENT, NULL).length;
        if (!ok) {
            bh_fail(call, bh_str("parameters need a single statement"));
        }
        bh_open(&w, '{');
        ok = ok && bind(call, db, statement, parameters) && put_rows(call, db, statement, limit, &w);
        bh_close(&w, '}');
        sqlite3_finalize(statement);
        if (!ok) {
            bh_fail(call, bh_format("statement %d failed, and the call has changed nothing", count + 1));
            return false;
        }
        if (rows) {
            *last = bh_written(&w);
        }
    }
}

static bool execute_in_transaction(bh_call *call, database *db, bh_json arguments, bh_writer *w) {
    bh_string sql = bh_string_of(bh_member(arguments, "sql"));
    if (strlen(sql.at) != sql.length) {
        bh_fail(call, bh_str("SQL contains no NUL"));
        return false;
    }
    int64_t before = sqlite3_total_changes64(db->connection);
    bh_json last = BH_ABSENT;
    if (!run(db, "BEGIN IMMEDIATE")) {
        fail(call, db);
        return false;
    }
    if (!execute_all(call, db, sql, bh_member(arguments, "parameters"), limit_of(arguments), &last)) {
        return false; /* closing the database rolls back */
    }
    if (!run(db, "COMMIT")) {
        fail(call, db);
        return false;
    }
    bh_key(w, "changes");
    bh_put_integer(w, sqlite3_total_changes64(db->connection) - before);
    bh_key(w, "last_insert_id");
    bh_put_integer(w, sqlite3_last_insert_rowid(db->connection));
    if (last.length) {
        bh_key(w, "result");
        bh_put_json(w, last);
    }
    return true;
}

static void execute(bh_call *call, bh_json arguments) {
    database db;
    bh_writer w = {0};
    bh_open(&w, '{');
    bool ok = open_database(call, arguments, false, &db) && execute_in_transaction(call, &db, arguments, &w);
    sqlite3_close(db.connection);
    bh_close(&w, '}');
    if (ok) {
        bh_structured(call, bh_written(&w));
    }
}

static const bh_tool tools[] = {{"sqlite_query", query}, {"sqlite_execute", execute}, {"sqlite_schema", schema}, {0}};
BH_PLUGIN(.tools = tools)
