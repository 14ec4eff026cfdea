//go:build unix

package sandbox

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
)

// A file is staged only if the module may read it itself: the grants of directories and the deny list apply.
func TestGitAddReadsAsModule(t *testing.T) {
	w := newWorld(t)
	repository(t, w.path("$W/work"))
	staged := func() string {
		t.Helper()
		out, err := exec.Command("git", "-C", w.path("$W/work"), "ls-files").CombinedOutput()
		if err != nil {
			t.Skipf("NOT CHECKED: git ls-files: %v %s", err, out)
		}
		return strings.Join(strings.Fields(string(out)), " ")
	}
	write := func(name, content string) {
		t.Helper()
		if err := os.WriteFile(w.path("$W/work/"+name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"open", "closed"} {
		if err := os.Mkdir(w.path("$W/work/"+dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"f", "open/g", "open/.env", "closed/h"} {
		write(name, "content of "+name)
	}
	for _, link := range []string{"open/link", "closed/link"} {
		if err := os.Symlink("x", w.path("$W/work/"+link)); err != nil {
			t.Fatal(err)
		}
	}
	grant := w.grant("r $W/work/open")
	grant.Deny = []string{"**/.env"}
	grant.Git = []config.Git{{Repo: w.path("$W/work"), Access: "commit"}}
	box := w.new(t, Setup{Plugin: "p", Grant: grant})
	operate := func(request string) string {
		return string(box.Operate(Begin(t.Context(), nil, nil), []byte(w.path(request))))
	}
	for _, path := range []string{"f", "open/.env", "closed/h", "closed/link"} {
		if got := operate(`{"op":"git/add","params":{"repo":"$W/work","paths":["` + path + `"]}}`); !strings.Contains(got, "permission denied") {
			t.Errorf("%s: got %s", path, got)
		}
	}
	got := operate(`{"op":"git/add","params":{"repo":"$W/work","paths":["."]}}`)
	if want := `{"result":{"changed":true,"skipped":4,"names":["closed/h","closed/link","f","open/.env"]}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := staged(); got != "open/g open/link" {
		t.Errorf("staged are %s", got)
	}
	grant.Git[0].Access = "rw"
	box = w.new(t, Setup{Plugin: "p", Grant: grant})
	if got := operate(`{"op":"git/add","params":{"repo":"$W/work","paths":["."]}}`); !strings.Contains(got, `"code":"denied"`) {
		t.Errorf("with access rw: got %s", got)
	}
}
