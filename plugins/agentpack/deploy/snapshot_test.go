package deploy_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/deploy"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/output"
	"github.com/bulkhead-mcp/bulkhead/sdk/digest"
)

var start = time.Date(2026, 2, 1, 9, 0, 0, 120_000_000, time.UTC)

// records creates a directory with the given records. The modification times of the records are a minute apart.
func records(t testing.TB, files ...[2]string) string {
	t.Helper()
	dir := t.TempDir()
	for i, file := range files {
		path := filepath.Join(dir, file[0])
		if err := os.WriteFile(path, []byte(file[1]), 0o644); err != nil {
			t.Fatal(err)
		}
		at := start.Add(time.Duration(i) * time.Minute)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func record(kind, id, rest string) [2]string {
	text := `{"kind":"` + kind + `","id":"` + id + `","created_at":"","targets":[],"lockfile_sha256":null,"backup_root":""` + rest + `}`
	return [2]string{id + ".json", text}
}

func TestSnapshotEncodesAndParses(t *testing.T) {
	lock := "ab"
	got, err := deploy.Snapshot{
		Kind: deploy.KindDeploy, ID: "1769936400120000000", CreatedAt: deploy.Timestamp(start), Targets: []string{"codex"},
		Files: []deploy.SnapshotFile{{Target: "codex", Path: "/h/AGENTS.md", SHA256: "01"}},
		Changes: []deploy.SnapshotChange{
			{Target: "codex", Op: deploy.OpCreate, Path: "/h/AGENTS.md", After: "01"},
			{Target: "codex", Op: deploy.OpDelete, Path: "/h/x", BackupPath: "/b/x", Before: "02"},
		},
		LockSHA256: &lock, BackupRoot: "/b",
	}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	want := `{
  "kind": "deploy",
  "id": "1769936400120000000",
  "created_at": "2026-02-01T09:00:00.12Z",
  "targets": [
    "codex"
  ],
  "managed_files": [
    {
      "target": "codex",
      "path": "/h/AGENTS.md",
      "sha256": "01"
    }
  ],
  "changes": [
    {
      "target": "codex",
      "op": "create",
      "path": "/h/AGENTS.md",
      "after_sha256": "01"
    },
    {
      "target": "codex",
      "op": "delete",
      "path": "/h/x",
      "backup_path": "/b/x",
      "before_sha256": "02"
    }
  ],
  "lockfile_sha256": "ab",
  "backup_root": "/b"
}
`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
}

func TestParseSnapshotRefuses(t *testing.T) {
	cases := []struct{ name, text, want string }{
		{"not JSON", "{", "unexpected end"},
		{"another kind", `{"kind":"party","id":"1"}`, "not one of deploy"},
		{"no id", `{"kind":"deploy"}`, "id is missing"},
	}
	for _, test := range cases {
		if _, err := deploy.ParseSnapshot([]byte(test.text)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want …%s…", test.name, err, test.want)
		}
	}
	if s, err := deploy.ParseSnapshot([]byte(`{"id":"1"}`)); err != nil || s.Kind != deploy.KindDeploy {
		t.Errorf("a record without a kind: got %+v, %v", s, err)
	}
}

func TestLoadSnapshotRefusesPaths(t *testing.T) {
	dir := records(t, record("deploy", "5", ""))
	for id, ok := range map[string]bool{"5": true, "6": false, "": false, ".": false, "..": false, "../5": false, "x/../5": false, `a\5`: false} {
		if s, err := deploy.LoadSnapshot(dir, id); ok != (err == nil) || ok && s.ID != id {
			t.Errorf("LoadSnapshot of the id %q returned %+v, %v", id, s, err)
		}
	}
}

func TestLastDeployed(t *testing.T) {
	files := func(path string) string {
		return `,"managed_files":[{"target":"codex","path":"` + path + `","sha256":""}]`
	}
	cases := []struct {
		name    string
		records [][2]string
		want    []string
		err     string
	}{
		{"no directory of records", nil, nil, ""},
		{"the newest snapshot is used", [][2]string{record("deploy", "2", files("/old")), record("deploy", "1", files("/new"))}, []string{"/new"}, ""},
		{"rollbacks are used", [][2]string{record("deploy", "1", files("/old")), record("rollback", "2", files("/back"))}, []string{"/back"}, ""},
		{"bootstraps are ignored", [][2]string{record("deploy", "1", files("/d")), record("bootstrap", "2", files("/b"))}, []string{"/d"}, ""},
		{"a record without files lists its changes except manifests", [][2]string{record("deploy", "1", `,"changes":[
			{"target":"codex","op":"create","path":"/c"},{"target":"codex","op":"update","path":"/u"},{"target":"codex","op":"delete","path":"/d"},
			{"target":"codex","op":"create","path":"/.agentpack.manifest.codex.json"}]`)}, []string{"/c", "/u"}, ""},
		{"a damaged record is an error", [][2]string{{"1.json", "{"}, record("deploy", "2", files("/d"))}, nil, "1.json cannot be read"},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "none")
			if test.records != nil {
				dir = records(t, test.records...)
			}
			keys, err := deploy.LastDeployed(dir)
			if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Fatal(err)
			}
			var got []string
			for _, key := range keys {
				got = append(got, key.Path)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLastDeployedPrefersLargerIDAtEqualTimes(t *testing.T) {
	dir := records(t,
		record("deploy", "9", `,"managed_files":[{"target":"c","path":"/nine","sha256":""}]`),
		record("deploy", "10", `,"managed_files":[{"target":"c","path":"/ten","sha256":""}]`))
	for _, file := range []string{"9.json", "10.json"} {
		if err := os.Chtimes(filepath.Join(dir, file), start, start); err != nil {
			t.Fatal(err)
		}
	}
	got, err := deploy.LastDeployed(dir)
	if diff := cmp.Diff([]output.Key{{Target: "c", Path: "/ten"}}, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
}

func TestHistory(t *testing.T) {
	back := func(to string) string { return `,"rolled_back_to":"` + to + `"` }
	cases := []struct {
		name    string
		records [][2]string
		head    string
		since   string // the expected result of Since for the id 1, as a list of ids
		err     string
	}{
		{"one deploy", [][2]string{record("deploy", "1", "")}, "1", "", ""},
		{"ids are compared as numbers", [][2]string{record("deploy", "10", ""), record("deploy", "9", ""), record("deploy", "1", "")}, "10", "10 9", ""},
		{"a rollback moves the head", [][2]string{record("deploy", "1", ""), record("deploy", "2", ""), record("rollback", "3", back("1"))}, "1", "", ""},
		{"the parent of a deploy after a rollback is the restored snapshot", [][2]string{record("deploy", "1", ""), record("deploy", "2", ""), record("rollback", "3", back("1")), record("deploy", "4", "")}, "4", "4", ""},
		{"a bootstrap is part of the history", [][2]string{record("deploy", "1", ""), record("bootstrap", "2", "")}, "2", "2", ""},
		{"no deploy", nil, "", "", "no deploy"},
		{"a rollback to a missing snapshot", [][2]string{record("deploy", "1", ""), record("rollback", "2", back("7"))}, "", "", "7, which no longer exists"},
		{"not an ancestor of the head", [][2]string{record("deploy", "2", "")}, "2", "", "does not descend from"},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			all, err := deploy.ListSnapshots(records(t, test.records...))
			if err != nil {
				t.Fatal(err)
			}
			history, err := deploy.NewHistory(all)
			var since []string
			if err == nil {
				if history.Head.ID != test.head {
					t.Errorf("the head is %s, want %s", history.Head.ID, test.head)
				}
				var found []*deploy.Snapshot
				found, err = history.Since("1")
				for _, s := range found {
					since = append(since, s.ID)
				}
			}
			if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("got %v", err)
			}
			if got := strings.Join(since, " "); got != test.since {
				t.Errorf("since 1: %q, want %q", got, test.since)
			}
		})
	}
}

func TestNextSnapshotIDIsLargest(t *testing.T) {
	now := "1769936400120000000"
	cases := []struct {
		name, file, want string
	}{
		{"the time", "", now},
		{"after an earlier snapshot", "5.json", now},
		{"after a snapshot of the same time", now + ".json", "1769936400120000001"},
		{"after a snapshot of the future", "1800000000000000000.json", "1800000000000000001"},
		{"after a directory without a record", "1800000000000000000", "1800000000000000001"},
		{"a file name that is not an id is ignored", "x.json", now},
	}
	for _, test := range cases {
		dir := records(t)
		if test.file != "" {
			dir = records(t, [2]string{test.file, ""})
		}
		if got, err := deploy.NextSnapshotID(dir, start); err != nil || got != test.want {
			t.Errorf("%s: got %s, %v, want %s", test.name, got, err, test.want)
		}
	}
}

// TestSampleRecordsRoundTrip parses and encodes each record of the sample data. It is skipped without the sample data.
func TestSampleRecordsRoundTrip(t *testing.T) {
	dir := testenv.Fixture(t, "agentpack", "composed", "state_sample", "snapshots")
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatal("the sample data has no records")
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s, err := deploy.ParseSnapshot(text)
		if err != nil {
			t.Fatal(err)
		}
		again, err := s.Encode()
		if diff := cmp.Diff(strings.TrimRight(string(text), "\n"), strings.TrimRight(string(again), "\n")); diff != "" || err != nil {
			t.Errorf("%s: %v %s", file, err, diff)
		}
		layout := deploy.Layout{Dir: dir, ID: s.ID}
		if s.Kind == deploy.KindRollback {
			continue
		}
		for _, f := range s.Files {
			content, err := os.ReadFile(layout.State(f.Key()))
			if err != nil || digest.Hex(content) != f.SHA256 {
				t.Errorf("the copy of %s: %v", f.Path, err)
			}
		}
	}
}

// FuzzParseSnapshot checks that encoding and parsing a valid record returns an equal record.
func FuzzParseSnapshot(f *testing.F) {
	f.Add([]byte(`{"kind":"deploy","id":"1","created_at":"","targets":["codex"],"managed_files":[{"target":"codex","path":"/a","sha256":""}],"changes":[],"lockfile_sha256":null,"backup_root":""}`))
	f.Add([]byte(`{"kind":"rollback","id":"2","changes":[{"op":"rollback_restore","path":"/a","backup_path":"/b"}],"rolled_back_to":"1"}`))
	f.Add([]byte(`{"id":"../1"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := deploy.ParseSnapshot(text)
		if err != nil {
			return
		}
		raw, err := s.Encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := deploy.ParseSnapshot(raw)
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		if twice, err := again.Encode(); err != nil || string(twice) != string(raw) {
			t.Errorf("%s became %s, %v", raw, twice, err)
		}
	})
}

func TestEncodeRefusesRecordTooLargeToRead(t *testing.T) {
	long := deploy.Snapshot{Kind: deploy.KindDeploy, ID: "1", Files: []deploy.SnapshotFile{{Path: strings.Repeat("a", 32<<20)}}}
	if _, err := long.Encode(); err == nil || !strings.Contains(err.Error(), "larger than 32 MiB") {
		t.Errorf("got %v", err)
	}
}
