package bearer

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func newFile(t *testing.T) File { return In(filepath.Join(t.TempDir(), "state")) }

func make1(t *testing.T, f File, name string) (string, Named) {
	t.Helper()
	token, n, err := f.New(t.Context(), name, nil)
	if err != nil {
		t.Fatal(err)
	}
	return token, n
}

func TestFileContainsNoSecret(t *testing.T) {
	f := newFile(t)
	expires := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	token, made, err := f.New(t.Context(), "ann", &expires)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(f.Path())
	if secret := token[strings.LastIndex(token, "_")+1:]; err != nil || len(secret)*5 != SecretBits || strings.Contains(string(data), secret) {
		t.Errorf("%v: the file of %s is\n%s", err, token, data)
	}
	all, err := f.Read()
	if err != nil || len(all) != 1 || all[0].ID != made.ID || all[0].Name != "ann" || !all[0].Expires.Equal(expires) {
		t.Errorf("got %+v, %v", all, err)
	}
	if idOf(token) != made.ID {
		t.Errorf("the ID of %s is %q, want %q", token, idOf(token), made.ID)
	}
}

// TestNameThatIsUsedAgainGetsAnotherID also checks what revoke selects.
func TestNameThatIsUsedAgainGetsAnotherID(t *testing.T) {
	f := newFile(t)
	_, first := make1(t, f, "ann")
	_, second := make1(t, f, "ann")
	_, bob := make1(t, f, "bob")
	revoked, err := f.Revoke(t.Context(), first.ID)
	if err != nil || len(revoked) != 1 || revoked[0].ID != first.ID {
		t.Errorf("by ID: got %+v, %v", revoked, err)
	}
	_, third := make1(t, f, "ann")
	if ids := []string{first.ID, second.ID, third.ID, bob.ID}; len(slices.Compact(slices.Sorted(slices.Values(ids)))) != 4 {
		t.Errorf("the IDs are %q", ids)
	}
	revoked, err = f.Revoke(t.Context(), "ann")
	if err != nil || len(revoked) != 2 || revoked[0].ID != second.ID || revoked[1].ID != third.ID {
		t.Errorf("by name: got %+v, %v", revoked, err)
	}
	if revoked, err = f.Revoke(t.Context(), "ann"); err != nil || len(revoked) != 0 {
		t.Errorf("again: got %+v, %v", revoked, err)
	}
	if all, err := f.Read(); err != nil || len(all) != 1 || all[0].ID != bob.ID {
		t.Errorf("got %+v, %v", all, err)
	}
}

// TestConcurrentChangesAreAllKept has a File for each change, as processes have.
func TestConcurrentChangesAreAllKept(t *testing.T) {
	f := newFile(t)
	const each = 8
	var all sync.WaitGroup
	for range each {
		all.Go(func() {
			if _, _, err := (File{f.path}).New(t.Context(), "made", nil); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got, err := f.Read(); err != nil || len(got) != each {
		t.Errorf("%d tokens are stored, want %d: %v", len(got), each, err)
	}
}

func TestNames(t *testing.T) {
	for name, valid := range map[string]bool{
		"ann": true, "CI-2_b": true, "0": true, strings.Repeat("a", 64): true,
		"": false, strings.Repeat("a", 65): false, "a b": false, "a.b": false, "-a": false, "a/b": false, "ä": false, "a\n": false, "bearer": false, "local": false, "\x1b[31m": false,
	} {
		if err := CheckName(name); (err == nil) != valid {
			t.Errorf("%q: %v", name, err)
		}
		if _, _, err := newFile(t).New(t.Context(), name, nil); (err == nil) != valid {
			t.Errorf("New of %q: %v", name, err)
		}
	}
}

func TestFileThatOthersCanWriteIsRefused(t *testing.T) {
	for name, spoil := range map[string]func(f File) error{
		"the file":      func(f File) error { return os.Chmod(f.path, 0o666) },
		"its directory": func(f File) error { return os.Chmod(filepath.Dir(f.path), 0o777) },
		"a symbolic link": func(f File) error {
			if err := os.Rename(f.path, f.path+".real"); err != nil {
				return err
			}
			return os.Symlink(f.path+".real", f.path)
		},
		"a directory in its place": func(f File) error {
			if err := os.Remove(f.path); err != nil {
				return err
			}
			return os.Mkdir(f.path, 0o700)
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFile(t)
			make1(t, f, "ann")
			if err := spoil(f); err != nil {
				t.Fatal(err)
			}
			if os.PathSeparator == '\\' && strings.HasPrefix(name, "the file") || os.PathSeparator == '\\' && strings.HasPrefix(name, "its") {
				t.Skip("Windows has no such modes")
			}
			if all, err := f.Read(); err == nil {
				t.Errorf("got %+v", all)
			}
			if _, _, err := f.New(t.Context(), "bob", nil); err == nil {
				t.Error("a token was added")
			}
		})
	}
}

func TestDamagedFileIsRefused(t *testing.T) {
	f := newFile(t)
	_, n := make1(t, f, "ann")
	record := `{"id":"` + n.ID + `","name":"ann","sha256":"` + n.SHA256 + `","created":"2026-01-01T00:00:00Z"}`
	for text, want := range map[string]string{
		"":      "not a file of tokens",
		"[]":    "not a file of tokens",
		"{":     "not a file of tokens",
		"{} {}": "not a file of tokens",
		`{"version":1,"tokens":[` + record + `]} x`:                                             "not a file of tokens",
		`{"version":2,"tokens":[` + record + `],"more":1}`:                                      "newer version",
		`{"version":1,"tokens":[` + record + `],"more":1}`:                                      "not a file of tokens",
		`{"version":1,"tokens":[` + record + `,` + record + `]}`:                                "two tokens have the ID",
		`{"version":1,"tokens":[` + strings.Replace(record, n.SHA256, "00", 1) + `]}`:           "digest",
		`{"version":1,"tokens":[` + strings.Replace(record, n.ID, "../../etc/passwd", 1) + `]}`: "the ID",
		`{"version":1,"tokens":[` + strings.Replace(record, "ann", `a\u001b`, 1) + `]}`:         "name",
		strings.Repeat(" ", maxFile+1):                                                          "larger than",
		`{"version":1,"tokens":[` + strings.Repeat(record+",", maxNamed) + record + `]}`:        "",
	} {
		if err := os.WriteFile(f.path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		all, err := f.Read()
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), f.path) {
			t.Errorf("%.100s: got %d tokens, %v, want %q", text, len(all), err, want)
		}
	}
	if err := os.Remove(f.path); err != nil {
		t.Fatal(err)
	}
	if all, err := f.Read(); err != nil || len(all) != 0 {
		t.Errorf("without a file: %+v, %v", all, err)
	}
	if _, err := (File{}).Read(); err == nil {
		t.Error("without a place: no error")
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"version":1,"tokens":[{"id":"aaaaaaaaaaaaaaaa","name":"ann","sha256":"` + strings.Repeat("0", 64) + `","created":"2026-01-01T00:00:00Z"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		all, err := decode(data)
		for _, n := range all {
			if problem := n.check(); err == nil && problem != nil {
				t.Errorf("accepted %+v: %v", n, problem)
			}
		}
	})
}
