package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
)

// tree is a set of files in memory, keyed by path.
type tree map[string]string

func (t tree) read(path string) ([]byte, error) {
	if text, ok := t[plain(path)]; ok {
		return []byte(onHost(text)), nil
	}
	if strings.HasSuffix(path, "denied") {
		return nil, os.ErrPermission
	}
	return nil, os.ErrNotExist
}

// parse parses /c/main.toml.
func (t tree) parse() (*config.Config, []string) {
	c, ps := config.ParseWith(hostPath("/c/main.toml"), []byte(onHost(t["/c/main.toml"])), t.read)
	var out []string
	for _, p := range ps {
		out = append(out, plain(fmt.Sprintf("%s:%d %s: %s", p.File, p.Line, p.Key, p.What)))
	}
	return c, out
}

func TestIncludeMerges(t *testing.T) {
	files := tree{
		"/c/main.toml": "include = ['team/a.toml', '/o/b.toml']\n[server]\nmemory = '1GiB'\n[defaults.limits]\ntime = '5s'\n" +
			"[[plugins]]\npath = 'own'\nhttp = [{ origin = 'https://h', credential = 'k' }]\n",
		"/c/team/a.toml":      "include = ['more/d.toml']\n[server]\nname = 'a'\nmemory = '2GiB'\n[defaults]\ndeny = ['x']\n[[plugins]]\npath = 'pa'\n",
		"/c/team/more/d.toml": "[server]\nname = 'd'\n[credentials.k]\nenv = 'K'\n[[plugins]]\npath = 'pd'\n[[plugins]]\npath = '/pd2'\n",
		"/o/b.toml":           "[defaults.limits]\nmemory = '8MiB'\ntime = '9s'\n[audit]\nfile = '/log'\n[[plugins]]\npath = '../pb'\n",
	}
	c, problems := files.parse()
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	var plugins []string
	for _, p := range c.Plugins {
		plugins = append(plugins, plain(fmt.Sprintf("%s %s %s:%d %v", p.Path, p.Key, p.File, p.Line, p.Included)))
	}
	want := []string{"/c/own plugins[0] /c/main.toml:6 false", "/c/team/pa plugins[0] /c/team/a.toml:7 true",
		"/c/team/more/pd plugins[0] /c/team/more/d.toml:5 true", "/pd2 plugins[1] /c/team/more/d.toml:7 true", "/pb plugins[0] /o/b.toml:6 true"}
	if !slices.Equal(plugins, want) || c.Own() != 1 {
		t.Errorf("got %q, own %d", plugins, c.Own())
	}
	if c.Server.Name != "a" || c.Server.Memory != 1<<30 {
		t.Errorf("server %+v", c.Server)
	}
	if l := c.Defaults.Limits; l.Time.Seconds() != 5 || l.Memory != 8<<20 || !slices.Equal(c.Defaults.Deny, []string{"x"}) ||
		plain(c.Defaults.Files["deny"]) != "/c/team/a.toml" || plain(c.Defaults.Files["limits.memory"]) != "/o/b.toml" || len(c.Defaults.Files) != 2 {
		t.Errorf("defaults %+v", c.Defaults)
	}
	if plain(c.Audit.Source) != "/o/b.toml" || plain(c.Plugins[0].HTTP[0].Credential.Source) != "/c/team/more/d.toml" {
		t.Errorf("audit %+v, credential %+v", c.Audit, c.Plugins[0].HTTP[0].Credential)
	}
	var paths []string
	for _, f := range c.Files {
		if paths = append(paths, plain(f.Path)); len(f.SHA256) != 64 {
			t.Errorf("%+v", f)
		}
	}
	if !slices.Equal(paths, []string{"/c/main.toml", "/c/team/a.toml", "/c/team/more/d.toml", "/o/b.toml"}) {
		t.Errorf("files %q", paths)
	}
}

func TestIncludeProblemsNameTheirFile(t *testing.T) {
	const plugin = "[[plugins]]\npath = 'p'\n"
	deep := func(n int) tree {
		files := tree{"/c/main.toml": "include = ['1.toml']\n" + plugin}
		for i := 1; i <= n; i++ {
			text := ""
			if i < n {
				text = fmt.Sprintf("include = ['%d.toml']\n", i+1)
			}
			files[fmt.Sprintf("/c/%d.toml", i)] = text
		}
		return files
	}
	many := tree{"/c/main.toml": "include = ["}
	for i := range 65 {
		many["/c/main.toml"] += fmt.Sprintf("'%d.toml',\n", i)
		many[fmt.Sprintf("/c/%d.toml", i)] = ""
	}
	many["/c/main.toml"] += "]\n" + plugin
	large := tree{"/c/main.toml": "include = ['1', '2', '3', '4', '5']\n" + plugin}
	for _, name := range []string{"1", "2", "3", "4", "5"} {
		large["/c/"+name] = strings.Repeat("#", 1<<20)
	}
	for name, c := range map[string]struct {
		files tree
		want  []string
	}{
		"an absent file":             {tree{"/c/main.toml": "include = [\n'a.toml']\n" + plugin}, []string{"/c/main.toml:2 include[0]: there is no file /c/a.toml"}},
		"an absent file, deeper":     {tree{"/c/main.toml": "include = ['d/a']\n" + plugin, "/c/d/a": "\ninclude = ['b']"}, []string{"/c/d/a:2 include[0]: there is no file /c/d/b"}},
		"a pattern":                  {tree{"/c/main.toml": "include = ['*.toml']\n" + plugin, "/c/a.toml": ""}, []string{"/c/main.toml:1 include[0]: there is no file /c/*.toml"}},
		"itself":                     {tree{"/c/main.toml": "include = ['./main.toml']\n" + plugin}, []string{"/c/main.toml:1 include[0]: /c/main.toml includes itself"}},
		"a cycle":                    {tree{"/c/main.toml": "include = ['a']\n" + plugin, "/c/a": "include = ['x/../main.toml']"}, []string{"/c/a:1 include[0]: /c/main.toml includes itself"}},
		"a cycle of included":        {tree{"/c/main.toml": "include = ['a']\n" + plugin, "/c/a": "include = ['b']", "/c/b": "include = ['a']"}, []string{"/c/b:1 include[0]: /c/a includes itself"}},
		"a file twice":               {tree{"/c/main.toml": "include = ['a', 'b']\n" + plugin, "/c/a": "include = ['b']", "/c/b": ""}, []string{"/c/main.toml:1 include[1]: /c/b is already included in /c/a:1"}},
		"a file that cannot be read": {tree{"/c/main.toml": "include = ['denied']\n" + plugin}, []string{"/c/main.toml:1 include[0]: /c/denied: permission denied"}},
		"a NUL byte":                 {tree{"/c/main.toml": "include = [\"a\\u0000\"]\n" + plugin}, []string{`/c/main.toml:1 include[0]: "a\x00" contains a NUL byte`}},
		"four deep":                  {deep(4), nil},
		"five deep":                  {deep(5), []string{"/c/4.toml:1 include[0]: /c/5.toml is included more than 4 deep"}},
		"too many":                   {many, []string{"/c/main.toml:65 include[64]: more than 64 files are included"}},
		"too large":                  {large, []string{"/c/main.toml:1 include[4]: the included files have more than 4 MiB in total"}},
		"a variable":                 {tree{"/c/main.toml": "include = ['${env:HOME}/a']\n" + plugin}, []string{`/c/main.toml:1 include[0]: "${env:HOME}/a" has a variable, which is not expanded here`}},
		"an empty path":              {tree{"/c/main.toml": "include = ['', { path = '' }]\n" + plugin}, []string{`/c/main.toml:1 include[0]: "" is empty`, `/c/main.toml:1 include[1].path: is empty`}},
		"a wrong type":               {tree{"/c/main.toml": "include = 'a'\n" + plugin}, []string{"/c/main.toml:1 include: is a string, not an array of strings and tables"}},
		"a wrong item":               {tree{"/c/main.toml": "include = ['a']\n" + plugin, "/c/a": "include = [1]"}, []string{"/c/a:1 include[0]: is an integer: write a quoted string or a table"}},
		"an unknown key":             {tree{"/c/main.toml": "include = ['a']\n" + plugin, "/c/a": "\n[serve]\n"}, []string{"/c/a:2 serve: is not a known key"}},
		"an unknown key of a pin":    {tree{"/c/main.toml": "include = ['a']\n" + plugin, "/c/a": "include = [{ path = 'b', sha = '' }]", "/c/b": ""}, []string{"/c/a:1 include[0].sha: is not a known key"}},
		"a syntax error":             {tree{"/c/main.toml": "include = ['a']\n" + plugin, "/c/a": "\n="}, []string{"/c/a:2 : is not TOML"}},
		"a wrong value":              {tree{"/c/main.toml": "include = ['a']\n" + plugin, "/c/a": "[server]\ndrain = 1"}, []string{"/c/a:2 server.drain: "}},
		"a wrong value in a plugin": {tree{"/c/main.toml": "include = ['a']\n" + plugin, "/c/a": "[[plugins]]\npath = 'q'\ndeny = [\n'../x']"},
			[]string{`/c/a:4 plugins[0].deny[0]: "../x" has the path element`}},
		"a conflict": {tree{"/c/main.toml": "include = ['a', 'b']\n" + plugin, "/c/a": "[server]\nname = 'x'", "/c/b": "\n[server]\nname = 'x'"},
			[]string{"/c/b:3 server.name: is also set in /c/a:2"}},
		"a conflict that the config decides": {tree{"/c/main.toml": "include = ['a', 'b']\nserver.name = 'm'\n" + plugin, "/c/a": "[server]\nname = 'x'", "/c/b": "[server]\nname = 'y'"}, nil},
		"a conflict of nested files": {tree{"/c/main.toml": "include = ['a', 'b']\n" + plugin, "/c/a": "include = ['d']", "/c/b": "[audit]\nfile = '/b'", "/c/d": "[audit]\nfile = '/d'"},
			[]string{"/c/b:2 audit.file: is also set in /c/d:2"}},
		"a table and a value": {tree{"/c/main.toml": "include = ['a']\nserver.name = 'm'\n" + plugin, "/c/a": "server = 1"}, []string{"/c/a:1 server: is also set in /c/main.toml:2"}},
		"a duplicate plugin":  {tree{"/c/main.toml": "include = ['d/a']\n" + plugin, "/c/d/a": "[[plugins]]\npath = '../p'"}, []string{"/c/d/a:2 plugins[0].path: is also the directory of the plugin in line 3 of /c/main.toml"}},
		"a pin that matches": {tree{"/c/main.toml": "include = [{ path = 'a', sha256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855' }]\n" + plugin,
			"/c/a": ""}, nil},
		"a pin that does not match": {tree{"/c/main.toml": "include = [{ path = 'a', sha256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855' }]\n" + plugin,
			"/c/a": "[server]\nname = 'evil'"}, []string{"/c/main.toml:1 include[0]: /c/a has changed since it was pinned: its SHA-256 is now "}},
	} {
		t.Run(name, func(t *testing.T) {
			_, got := c.files.parse()
			if len(got) != len(c.want) {
				t.Fatalf("got %q, want %q", got, c.want)
			}
			for i, want := range c.want {
				if !strings.HasPrefix(got[i], want) {
					t.Errorf("got %q, want %q", got[i], want)
				}
			}
		})
	}
}

func TestIncludeRecognizesFilesThroughSymbolicLinks(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"main.toml": "include = ['link']\n[[plugins]]\npath = 'p'\n", "a": "include = ['main.toml']"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("main.toml", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if _, ps := config.Parse(filepath.Join(dir, "main.toml"), []byte("include = ['link']")); len(ps) != 1 || !strings.Contains(ps[0].What, "includes itself") {
		t.Errorf("got %v", ps)
	}
}

func TestEditsKeepIncludedFiles(t *testing.T) {
	dir := t.TempDir()
	text := "include = ['a.toml']\n\n[[plugins]]\npath = 'own'\n"
	file := filepath.Join(dir, "bulkhead.toml")
	for name, content := range map[string]string{"a.toml": "[credentials.k]\nenv = 'K'\n[[plugins]]\npath = 'p'\n", "bulkhead.toml": text} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := addPlugin(file, []byte(text), config.Plugin{Path: "new"})
	if err != nil || string(got) != text+"\n[[plugins]]\npath = \"new\"\n" {
		t.Fatalf("got %q, %v", got, err)
	}
	c, ps := config.Parse(file, got)
	if ps.Err() != nil || c.Own() != 2 || len(c.Plugins) != 3 || c.Plugins[1].Path != filepath.Join(dir, "new") {
		t.Errorf("got %+v, %v", c, ps)
	}
}

// FuzzInclude checks that include ends, and that every plugin and every problem has the file that it comes from.
func FuzzInclude(f *testing.F) {
	f.Add("include = ['a', { path = 'b', sha256 = '' }]\n[server]\nname = 'm'\n", "include = ['b']\n[[plugins]]\npath = 'p'\n", "include = ['a', 'main.toml']\n[server]\nname = 'b'")
	f.Add("include = ['a', 'b']\nplugins = [{ path = 'x' }]", "plugins = [1]\nserver = 2", "[[plugins]]\n[[plugins]]\n[server.drain]\n")
	f.Add("include = ['a', 'b']\n[defaults]\ndeny = ['x']", "[defaults]\nlimits = { time = '1s' }", "[defaults.limits]\ntime = '2s'\nx = 1")
	f.Fuzz(func(t *testing.T, main, a, b string) {
		files := tree{"/c/main.toml": main, "/c/a": a, "/c/b": b}
		reads := 0
		c, ps := config.ParseWith(hostPath("/c/main.toml"), []byte(main), func(path string) ([]byte, error) {
			reads++
			return files.read(path)
		})
		if reads > 64 {
			t.Errorf("%d files were read, which is too many", reads)
		}
		for _, p := range ps {
			if _, ok := files[plain(p.File)]; !ok {
				t.Errorf("a problem names none of the files: %v", p)
			}
		}
		if c == nil || ps.Err() != nil {
			return
		}
		for i, p := range c.Plugins {
			if _, ok := files[plain(p.File)]; !ok || p.Included != (i >= c.Own()) || p.Included != (plain(p.File) != "/c/main.toml") {
				t.Errorf("plugin %d: %+v", i, p)
			}
		}
	})
}
