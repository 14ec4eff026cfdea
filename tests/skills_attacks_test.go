//go:build unix

package tests

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const secretOfOthers = "the words of another directory"

// skillOf returns the SKILL.md of a skill.
func skillOf(name, more, body string) string {
	return "---\nname: " + name + "\ndescription: a skill\n" + more + "---\n" + body + "\n"
}

// hostileSkills makes a project whose author attacks the host and its clients, and returns the names of the skills that are valid.
func hostileSkills(t *testing.T, a *attackedEndpoints) (valid []string) {
	t.Helper()
	dir, outside := filepath.Join(a.project, "skills"), filepath.Join(a.dir, "outside")
	putFile(t, filepath.Join(outside, "secret.txt"), secretOfOthers)
	putFile(t, filepath.Join(outside, "evil", "SKILL.md"), skillOf("evil", "", secretOfOthers))
	putFile(t, filepath.Join(a.dir, "two", "skills", "second", "SKILL.md"), skillOf("second", "", secretOfOthers))
	put := func(name, more, body string) {
		putFile(t, filepath.Join(dir, name, "SKILL.md"), skillOf(name, more, body))
	}
	try := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	put("good", "", "body")
	putFile(t, filepath.Join(dir, "good", "more", "a.md"), "more")
	putFile(t, filepath.Join(dir, "good", ".env"), secretOfOthers)
	try(os.Symlink(filepath.Join(outside, "evil"), filepath.Join(dir, "evil")))
	try(os.Symlink("../../outside/evil", filepath.Join(dir, "relative")))
	put("linked-file", "", "")
	try(os.Symlink(filepath.Join(outside, "secret.txt"), filepath.Join(dir, "linked-file", "secret.txt")))
	put("linked-directory", "", "")
	try(os.Symlink(outside, filepath.Join(dir, "linked-directory", "out")))
	try(os.MkdirAll(filepath.Join(dir, "linked-instructions"), 0o755))
	try(os.Symlink(filepath.Join(outside, "evil", "SKILL.md"), filepath.Join(dir, "linked-instructions", "SKILL.md")))
	try(os.MkdirAll(filepath.Join(dir, "fifo-instructions"), 0o755))
	try(syscall.Mkfifo(filepath.Join(dir, "fifo-instructions", "SKILL.md"), 0o600))
	put("fifo", "", "")
	try(syscall.Mkfifo(filepath.Join(dir, "fifo", "x"), 0o600))
	put("socket", "", "")
	t.Chdir(filepath.Join(dir, "socket")) // the path of a socket must be short
	l, err := net.Listen("unix", "s")
	try(err)
	t.Cleanup(func() { l.Close() })
	for name, more := range map[string]string{
		"bomb": "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n", "tagged": "a: !!python/object x\n", "merged": "<<: {a: b}\n", "deep": "a: " + strings.Repeat("[", 200) + strings.Repeat("]", 200) + "\n",
		"large": "a: " + strings.Repeat("x", 20_000) + "\n", "twice": "description: another\n", "escaped": `a: "\u202e"` + "\n",
	} {
		put(name, more, "")
	}
	for name, body := range map[string]string{
		"reordered": "a\u202eb", "tags": "a\U000e0041b", "zero-width": "a\u200bb", "filler": "a\u3164b", "terminal": "a\x1b[31mb", "carriage": "a\rb", "selector": "a\ufe01b", "nul": "a\x00b", "invalid": "a\xffb",
	} {
		put(name, "", body)
	}
	for name, file := range map[string]string{"upper-case": "x.MD", "markdown": "x.markdown", "text": "x.txt"} {
		put(name, "", "")
		putFile(t, filepath.Join(dir, name, file), "a\u202eb")
	}
	for _, name := range []string{"Capital", "double--hyphen", "g\u043eod", "a\u202eb", "a b"} {
		put(name, "", secretOfOthers)
	}
	put("huge", "", "")
	putFile(t, filepath.Join(dir, "huge", "x"), strings.Repeat("x", 5<<20))
	return []string{"good"}
}

// TestHostileSkillsOfProjectAreNotServed serves a project whose skills attack, to clients that attack.
func TestHostileSkillsOfProjectAreNotServed(t *testing.T) {
	a := serveAttackedHTTP(t, "skills = ['${project}/skills']", "")
	valid := hostileSkills(t, a)
	for _, method := range []string{"skills/list", "resources/list"} {
		for _, project := range []string{"", "/two"} {
			var list struct {
				Result struct{ Skills, Resources []struct{ URI string } }
			}
			got := a.request("ann", project, method, members{})
			if err := json.Unmarshal([]byte(got), &list); err != nil {
				t.Fatalf("%v: %s", err, got)
			}
			want := valid
			if project != "" {
				want = []string{"second"}
			}
			found := append(list.Result.Skills, list.Result.Resources...)
			if len(found) != len(want) || found[0].URI != "skill://_project/"+want[0]+"/SKILL.md" || strings.Contains(got, secretOfOthers) {
				t.Errorf("%s of %q: %s", method, project, got)
			}
		}
	}
	if got := a.request("ann", "", "resources/read", members{"uri": "skill://_project/good/more/a.md"}); !strings.Contains(got, `"text":"more"`) {
		t.Errorf("a valid skill: %s", got)
	}
	uris := []string{
		"SKILL://_project/good/SKILL.md", "skill://_PROJECT/good/SKILL.md", "skill:///_project/good/SKILL.md", "skill://user@_project/good/SKILL.md", "skill://_project:80/good/SKILL.md",
		`skill://_project\good/SKILL.md`, "skill://_project", "skill://answers/good/SKILL.md", "file://" + filepath.Join(a.dir, "outside", "secret.txt"),
	}
	for _, path := range []string{
		"good/../linked-file/secret.txt", "good/%2e%2e/evil/SKILL.md", "good//SKILL.md", "good/./SKILL.md", "good/SKILL.md/", "good/SKILL.md?x", "good/SKILL.md#x", "good/SKILL%2Emd", "Good/SKILL.md",
		"good/skill.md", "good/.env", "../outside/secret.txt", "../../outside/secret.txt", "evil/SKILL.md", "relative/SKILL.md", "linked-file/secret.txt", "linked-file/SKILL.md", "linked-directory/out/secret.txt",
		"linked-instructions/SKILL.md", "fifo-instructions/SKILL.md", "fifo/x", "fifo/SKILL.md", "socket/s", "bomb/SKILL.md", "deep/SKILL.md", "reordered/SKILL.md", "tags/SKILL.md", "text/x.txt", "markdown/x.markdown",
		"upper-case/x.MD", "huge/x", "Capital/SKILL.md", "double--hyphen/SKILL.md", "second/SKILL.md", "../two/skills/second/SKILL.md", "", "/good/SKILL.md", "./good/SKILL.md",
	} {
		uris = append(uris, "skill://_project/"+path)
	}
	for _, uri := range uris {
		for _, method := range []string{"resources/read", "resources/directory/read", "skills/get"} {
			got := a.request("ann", "", method, members{"uri": uri})
			if !strings.Contains(got, `"error":{"code":-32`) || strings.Contains(got, secretOfOthers) || strings.Contains(got, a.dir) && !strings.Contains(uri, a.dir) {
				t.Errorf("%s of %s: %s", method, uri, got)
			}
			a.wantRecord(method+" of "+uri, `"method":"`+method+`"`, `"outcome":"`)
		}
	}
	if strings.Contains(readFile(t, a.log), secretOfOthers) || strings.Contains(a.server.log.String(), secretOfOthers) {
		t.Error("a log has the content of a file")
	}
}

// TestSkillThatIsSwappedWhileItIsRead has a file of a skill, and its directory, replaced by symbolic links again and again while clients read it.
func TestSkillThatIsSwappedWhileItIsRead(t *testing.T) {
	t.Parallel()
	a := serveAttackedHTTP(t, "skills = ['${project}/skills']", "")
	skill, outside := filepath.Join(a.project, "skills", "swapped"), filepath.Join(a.dir, "outside")
	putFile(t, filepath.Join(skill, "SKILL.md"), skillOf("swapped", "", "body"))
	putFile(t, filepath.Join(skill, "more", "a.md"), "more")
	putFile(t, filepath.Join(outside, "a.md"), secretOfOthers)
	putFile(t, filepath.Join(outside, "SKILL.md"), skillOf("swapped", "", secretOfOthers))
	stop, stopped := make(chan struct{}), make(chan error, 1)
	go func() {
		swap := func(path, target string) error {
			aside := path + ".aside"
			for _, err := range []error{os.Symlink(target, path+".link"), os.Rename(path, aside), os.Rename(path+".link", path), os.Remove(path), os.Rename(aside, path)} {
				if err != nil {
					return err
				}
			}
			return nil
		}
		for {
			select {
			case <-stop:
				stopped <- nil
				return
			default:
			}
			for path, target := range map[string]string{skill: outside, filepath.Join(skill, "more"): outside, filepath.Join(skill, "more", "a.md"): filepath.Join(outside, "a.md")} {
				if err := swap(path, target); err != nil {
					stopped <- err
					return
				}
			}
		}
	}()
	for range 100 {
		for method, params := range map[string]members{
			"skills/list": {}, "skills/get": {"uri": "skill://_project/swapped/SKILL.md"}, "resources/read": {"uri": "skill://_project/swapped/more/a.md"},
		} {
			if got := a.request("ann", "", method, params); strings.Contains(got, secretOfOthers) || strings.Contains(got, a.dir) {
				t.Fatalf("%s: %s", method, got)
			}
		}
	}
	close(stop)
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
	if got := a.request("ann", "", "resources/read", members{"uri": "skill://_project/swapped/more/a.md"}); !strings.Contains(got, `"text":"more"`) {
		t.Errorf("afterwards: %s", got)
	}
}
