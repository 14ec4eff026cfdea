//go:build unix

package tests

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// sqliteUser has a project with databases.
type sqliteUser struct {
	t                       *testing.T
	plugin, project, config string
	env                     []string
}

func newSqliteUser(t *testing.T) *sqliteUser {
	t.Helper()
	plugin := filepath.Join(otherPlugin(t, "sqlite"), "sqlite")
	return &sqliteUser{t: t, plugin: plugin, project: newDir(t, nil), config: filepath.Join(newDir(t, nil), "bulkhead.toml"), env: environment(t)}
}

// command returns the command `bulkhead serve` with a grant of the project, and limits.
func (u *sqliteUser) command(access, limits string) *exec.Cmd {
	u.t.Helper()
	putFile(u.t, u.config, fmt.Sprintf("[[plugins]]\npath = %q\nfs = [{ path = %q, access = %q }]\n[plugins.limits]\n%s\n", u.plugin, u.project, access, limits))
	command := programCommand(u.t, "serve", "--config", u.config, "--project", u.project)
	command.Env = u.env
	return command
}

func (u *sqliteUser) serve(access, limits string) *server {
	u.t.Helper()
	return startServer(u.t, u.command(access, limits))
}

// statement returns the arguments of a call for the database a.db.
func statement(t *testing.T, sql string) string {
	return jsonOf(t, map[string]any{"database": "a.db", "sql": sql})
}

// createTree creates the database a.db with a table of 200 rows whose value is 0. It is larger than SQLite's cache needs to be, so that
// nothing but COMMIT writes the database; grow writes it before.
func (u *sqliteUser) createTree(s *server) {
	u.t.Helper()
	s.mustCall("sqlite_execute", jsonOf(u.t, map[string]any{"database": "a.db", "create": true,
		"sql": "create table tree(value int, leaves blob); with recursive n(i) as (select 1 union all select i + 1 from n limit 200) insert into tree select 0, randomblob(1000) from n"}))
}

// checkTree checks that the database is intact, and that either all rows or none have changed.
func (u *sqliteUser) checkTree(s *server, moment string) (changed bool) {
	u.t.Helper()
	text := s.mustCall("sqlite_query", statement(u.t, "select count(*), sum(value), (select group_concat(integrity_check) from pragma_integrity_check) from tree"))
	switch {
	case strings.Contains(text, `[[200,0,"ok"]]`):
		return false
	case strings.Contains(text, `[[200,200,"ok"]]`):
		return true
	}
	u.t.Errorf("%s: the database has %s", moment, text)
	return false
}

// changeTree changes all rows, and leaves as many pages as it had.
const changeTree = "update tree set value = 1, leaves = randomblob(1000)"

// grow fills SQLite's cache, so that it writes the database before the transaction ends, and does not end by itself.
const grow = changeTree + "; with recursive n(i) as (select 1 union all select i + 1 from n) insert into tree select 1, zeroblob(100000) from n"

// TestSQLiteServersExcludeEachOther has two servers read and write a counter at the same time.
func TestSQLiteServersExcludeEachOther(t *testing.T) {
	t.Parallel()
	u := newSqliteUser(t)
	first, second := u.serve("rw", ""), u.serve("rw", "")
	first.mustCall("sqlite_execute", jsonOf(t, map[string]any{"database": "a.db", "create": true, "sql": "create table counter(n int, pad blob); insert into counter values (0, zeroblob(20000))"}))
	second.mustCall("sqlite_query", statement(t, "select n from counter")) // starts its worker
	const calls = 20
	servers := []*server{first, second}
	for range calls {
		for _, s := range servers { // the second statement has the transaction take longer, after it has read the counter
			s.sendCall("sqlite_execute", statement(t, "update counter set n = n + 1, pad = randomblob(20000); with recursive i(x) as (select 1 union all select x + 1 from i limit 30000) select count(*) from i"))
		}
	}
	for _, s := range servers {
		for range calls {
			if _, r := s.nextAnswer(); r.IsError {
				t.Errorf("a call failed: %+v", r)
			}
		}
	}
	text := second.mustCall("sqlite_query", statement(t, "select n, (select group_concat(integrity_check) from pragma_integrity_check) from counter"))
	if want := fmt.Sprintf(`[[%d,"ok"]]`, 2*calls); !strings.Contains(text, want) {
		t.Errorf("the counter has %s, want %s", text, want)
	}
}

// killInTransaction kills what kill kills while a transaction writes the database.
func (u *sqliteUser) killInTransaction(s *server, kill func()) {
	u.t.Helper()
	size := len(readFile(u.t, filepath.Join(u.project, "a.db")))
	s.sendCall("sqlite_execute", statement(u.t, grow))
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		info, err := os.Stat(filepath.Join(u.project, "a.db"))
		if err != nil {
			u.t.Fatal(err)
		}
		if info.Size() > int64(size) {
			kill()
			return
		}
		if time.Now().After(end) {
			u.t.Fatal("the transaction does not write the database")
		}
	}
}

func (u *sqliteUser) killWorkers(s *server) func() {
	return func() {
		for _, pid := range s.workers() {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				u.t.Fatal(err)
			}
		}
	}
}

func TestSQLiteTransactionOfKilledWorkerIsRolledBack(t *testing.T) {
	t.Parallel()
	u := newSqliteUser(t)
	s := u.serve("rw", "")
	u.createTree(s)
	u.killInTransaction(s, u.killWorkers(s))
	if _, r := s.nextAnswer(); !r.IsError {
		t.Errorf("the call whose worker was killed succeeded: %+v", r)
	}
	if u.checkTree(s, "after the kill") {
		t.Error("the transaction was not rolled back")
	}
}

// TestSQLiteReaderRefusesInterruptedWrite kills the server in a transaction. Who may only read cannot roll it back, and must not read what
// it wrote.
func TestSQLiteReaderRefusesInterruptedWrite(t *testing.T) {
	t.Parallel()
	u := newSqliteUser(t)
	s := u.serve("rw", "")
	u.createTree(s)
	u.killInTransaction(s, s.kill)
	left := snapshot(t, u.project)
	reader := u.serve("r", "")
	reader.wantToolError("sqlite_query", statement(t, "select count(*) from tree"), "a write was interrupted", `grant it with access "rw"`)
	reader.wantToolError("sqlite_schema", `{"database":"a.db"}`, "a write was interrupted")
	reader.end()
	for name, content := range snapshot(t, u.project) {
		if content != left[name] {
			t.Errorf("%s changed", name)
		}
	}
	if u.checkTree(u.serve("rw", ""), "after the kill") {
		t.Error("the transaction was not rolled back")
	}
}

// TestSQLiteCallThatEndsAnywhereIsRolledBack ends a call after every so many instructions, from its beginning until it succeeds.
func TestSQLiteCallThatEndsAnywhereIsRolledBack(t *testing.T) {
	t.Parallel()
	u := newSqliteUser(t)
	u.createTree(u.serve("rw", ""))
	var before, journals, after int
	for fuel := 2_000_000; after < 2; fuel += 500_000 {
		if fuel > 100_000_000 {
			t.Fatal("the call does not succeed")
		}
		s := u.serve("rw", fmt.Sprintf("fuel = %d", fuel))
		r := s.call("sqlite_execute", statement(t, changeTree))
		s.end()
		if _, err := os.Stat(filepath.Join(u.project, "a.db-journal")); err == nil {
			journals++
		}
		whole := u.serve("rw", "")
		switch changed := u.checkTree(whole, fmt.Sprintf("after %d fuel", fuel)); {
		case changed:
			after++
			whole.mustCall("sqlite_execute", statement(t, "update tree set value = 0"))
		case r.IsError:
			before++
		default:
			t.Errorf("a call with %d fuel succeeded without effect", fuel)
		}
		whole.end()
	}
	if before == 0 || journals < 3 {
		t.Errorf("%d calls were rolled back, and %d left a journal", before, journals)
	}
	t.Logf("%d calls were rolled back, %d left a journal", before, journals)
}

// TestSQLiteWriteThatFailsIsRolledBack has the n-th kilobyte of a file be one too many: the system refuses to write it.
func TestSQLiteWriteThatFailsIsRolledBack(t *testing.T) {
	t.Parallel()
	u := newSqliteUser(t)
	s := u.serve("rw", "")
	u.createTree(s)
	u.checkTree(s, "before")
	size := len(readFile(t, filepath.Join(u.project, "a.db"))) / 1024
	var failed int
	for limit := 4; limit < size+700; limit += 40 {
		command := u.command("rw", "")
		command.Args = append([]string{"sh", "-c", fmt.Sprintf(`ulimit -f %d && exec "$0" "$@"`, limit*2)}, command.Args...)
		command.Path = "/bin/sh"
		limited := startServer(t, command)
		r := limited.call("sqlite_execute", statement(t, changeTree+"; insert into tree select 1, zeroblob(5000) from tree; delete from tree where rowid > 200"))
		limited.kill()
		if changed := u.checkTree(s, fmt.Sprintf("with at most %d kB", limit)); changed == r.IsError {
			t.Errorf("with at most %d kB the call is an error: %t, and has changed the database: %t", limit, r.IsError, changed)
		}
		if r.IsError {
			failed++
		}
		s.mustCall("sqlite_execute", statement(t, "update tree set value = 0"))
	}
	if failed < 3 {
		t.Errorf("%d calls failed", failed)
	}
}
