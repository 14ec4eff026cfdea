//go:build unix

package attributes_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/internal/gittest"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/worktree/attributes"
)

func none(string) ([]byte, error) { return nil, nil }

// TestAttributesAreGits compares the attributes of files with those that git check-attr shows.
func TestAttributesAreGits(t *testing.T) {
	files := []string{"a.txt", "dir/a.txt", "dir/deep/b.c", "b.C", "other", "dir/[x]", "sp ace", "q\"uote", "ü.txt", "dir/other/a.txt"}
	cases := map[string]string{
		"values":            "*.txt text -diff !eol filter=lfs\n",
		"the last line":     "*.txt text\n*.txt -text\n",
		"unspecified again": "*.txt text eol=lf\ndir/*.txt !text\n",
		"base name":         "a.txt text\n",
		"anchored":          "/a.txt text\ndir/b.c text\n",
		"double stars":      "**/a.txt x\ndir/** y\n**/deep/** z\n",
		"a directory":       "dir/ text\ndir text\n",
		"negative":          "!*.txt text\n",
		"comments":          "# *.txt text\n\n   *.c  text  # x\n",
		"macros":            "[attr]big filter=lfs diff=lfs -text\n*.txt big\n*.c -big\nother big=1\n",
		"nested macros":     "[attr]one two\n[attr]two text three=3\n*.txt one -text\n",
		"a macro of itself": "[attr]one one text\n*.txt one\n",
		"binary":            "*.txt binary\n*.c binary diff\n",
		"binary redefined":  "[attr]binary text\n*.txt binary\n",
		"quotes":            "\"sp ace\" text\n\"q\\\"uote\" text\n\"\\303\\274.txt\" text\n",
		"broken quotes":     "\"sp ace text\n\"\\9\" text\n",
		"sets":              "*.[ct] text\ndir/\\[x\\] y\n",
		"invalid names":     "*.txt te,xt\n*.c -\nother text=a=b\n",
		"empty value":       "*.txt text=\n",
		"carriage returns":  "*.txt text\r\n*.c -text\r\n",
		"byte order mark":   "\ufeff*.txt text\n",
		"tabs":              "*.txt\ttext\t-diff\n",
	}
	for rule, content := range cases {
		for _, fold := range []string{"false", "true"} {
			r := gittest.GitSample(t)
			gittest.Git(t, r.Dir, "config", "core.ignoreCase", fold)
			gittest.Write(t, r.Dir+"/.gitattributes", content)
			gittest.Write(t, r.Dir+"/dir/.gitattributes", "a.txt sub=1 -x\n[attr]sub text\n/deep/b.c top\n")
			gittest.Write(t, r.Dir+"/.git/info/attributes", "other info !text\n[attr]two info\n")
			gittest.Write(t, r.Dir+"/user", "*.txt user=1 text=user\nother text\n[attr]big user\n")
			gittest.Write(t, r.Dir+"/system", "*.txt user=2 system\n")
			cmd := exec.Command("git", append([]string{"-c", "core.attributesFile=" + r.Dir + "/user", "check-attr", "-z", "-a", "--"}, files...)...)
			cmd.Dir, cmd.Env = r.Dir, append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_ATTR_NOSYSTEM=1")
			out, err := cmd.Output()
			gittest.Must(t, err)
			want := map[string]map[string]string{}
			words := strings.Split(string(out), "\x00")
			for ; len(words) > 3; words = words[3:] {
				if want[words[0]] == nil {
					want[words[0]] = map[string]string{}
				}
				want[words[0]][words[1]] = words[2]
			}
			user, err := os.ReadFile(r.Dir + "/user")
			gittest.Must(t, err)
			m, err := attributes.New(t.Context(), gittest.Open(t, r.Dir), fold == "true", nil, user, none)
			gittest.Must(t, err)
			for _, file := range files {
				found, err := m.File(file)
				gittest.Must(t, err)
				got := map[string]string{}
				for name, state := range found {
					switch state {
					case attributes.Set:
						got[name] = "set"
					case attributes.Unset:
						got[name] = "unset"
					default:
						got[name] = string(state)
					}
				}
				if len(got) == 0 {
					got = nil
				}
				if diff := cmp.Diff(want[file], got); diff != "" {
					t.Errorf("%s, case ignored %s: %s (-git +got)\n%s", rule, fold, file, diff)
				}
			}
		}
	}
}

func TestSystemAttributesHaveTheLowestPrecedence(t *testing.T) {
	r := gittest.GitSample(t)
	m, err := attributes.New(t.Context(), gittest.Open(t, r.Dir), false, []byte("* a=system b=system c=system\n"), []byte("* b=user c=user\n"),
		func(name string) ([]byte, error) {
			if name == attributes.Name {
				return []byte("* c=index\n"), nil
			}
			return nil, nil
		})
	gittest.Must(t, err)
	got, err := m.File("dir/x")
	gittest.Must(t, err)
	if diff := cmp.Diff(map[string]attributes.State{"a": "system", "b": "user", "c": "index"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestAttributesAreBounded(t *testing.T) {
	for why, content := range map[string]string{
		"line 2: longer than 2048 bytes": "* x\n* " + strings.Repeat("y", 3000) + "\n",
		"more than 100000 lines":         strings.Repeat("* x\n", 100_001),
		"larger than":                    strings.Repeat("#\n", 1<<20),
	} {
		r := gittest.GitSample(t)
		gittest.Write(t, r.Dir+"/.gitattributes", content)
		if _, err := attributes.New(t.Context(), gittest.Open(t, r.Dir), false, nil, nil, none); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: got %v", why, err)
		}
	}
}

// FuzzAttributes checks that arbitrary rules end.
func FuzzAttributes(f *testing.F) {
	f.Add("[attr]a b\n[attr]b a c=1\n* a -c\n", "dir/x")
	f.Add("\"\\303\" text\n**/x !text\n", "x")
	f.Fuzz(func(t *testing.T, content, name string) {
		r := gittest.Sample(t, t.TempDir())
		m, err := attributes.New(t.Context(), gittest.Open(t, r.Dir), false, []byte(content), nil, none)
		if err != nil {
			return
		}
		if _, err := m.File("x"); err != nil {
			t.Fatal(err)
		}
		_, _ = m.File(name) // an invalid path may be an error
	})
}
