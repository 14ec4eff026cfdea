package config_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bulkhead-mcp/bulkhead/internal/base/signature"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

const digest = "abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789"

func TestAddPluginRoundTrips(t *testing.T) {
	before := "# ours\r\n[credentials.token] # c\r\nenv = 'TOKEN'"
	p := config.Plugin{Path: hostPath("/opt/a \"b\""), SHA256: digest, Prefix: "x_", AllowTools: []string{"a", "b*"}, DenyTools: []string{},
		Prompts: config.Filter{Allow: []string{"p"}}, Resources: config.Filter{Deny: []string{"r://*"}}, AllowWrite: true, Approve: config.Approve{Writes: true, Tools: []string{"w*"}},
		FS:   []manifest.FS{{Path: "${project}", Access: "rw"}, {Path: hostPath("/srv/") + strings.Repeat("long", 30), Access: "r"}},
		Deny: []string{"**/.env"},
		HTTP: []config.HTTP{{PublicWeb: true}, {Origin: parseOrigin(t, "https://a.example")}, {Origin: parseOrigin(t, "http://[::1]:8080"), Private: true,
			Credential: &config.Credential{Name: "token"}}},
		Git: []manifest.Git{{Repo: "${project}", Access: "rw", Remotes: []string{"https://h/r", "*"}}, {Repo: hostPath("/r"), Access: "r"}},
		Env: map[string]string{"TOKEN": "${env:TOKEN}", "A": "$${x}\n"},
		Limits: manifest.Limits{Memory: 1 << 20, Time: 90 * time.Second, Fuel: 1, Input: 1 << 10, Output: 1025, Operations: 2, Log: 1 << 10,
			Files: 3, Concurrency: 4, Queue: time.Millisecond, HTTPRequest: 1 << 20, HTTPResponse: 1 << 30, HTTPConcurrency: 5},
		Isolation: config.IsolationReused}
	got, err := addPlugin("/etc/bulkhead.toml", []byte(before), p)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(got, []byte(before)) || bytes.Count(got, []byte("\n")) != bytes.Count(got, []byte("\r\n")) {
		t.Errorf("%q", got)
	}
	c, ps := config.Parse("/etc/bulkhead.toml", got)
	if ps.Err() != nil {
		t.Fatal(ps)
	}
	p.HTTP[2].Credential = c.Credentials[0]
	if diff := cmp.Diff(p, c.Plugins[0], cmpopts.IgnoreFields(config.Plugin{}, "Line", "File", "Dir", "Key", "Lines", "References"),
		cmpopts.IgnoreFields(manifest.FS{}, "Line"), cmpopts.IgnoreFields(manifest.Git{}, "Line")); diff != "" {
		t.Error(diff)
	}
}

func TestAddPluginByName(t *testing.T) {
	got, err := addPlugin("/etc/bulkhead.toml", nil, config.Plugin{Name: "notes", Always: true})
	if err != nil || string(got) != "[[plugins]]\nname = \"notes\"\nalways_offer = true\n" {
		t.Errorf("got %q, %v", got, err)
	}
	if got, err := addPlugin("/etc/bulkhead.toml", got, config.Plugin{Name: "notes"}); err == nil {
		t.Errorf("a second time: got %q", got)
	}
}

func TestAddPluginFormat(t *testing.T) {
	got, err := addPlugin("/etc/bulkhead.toml", []byte("[server]\nname = \"team\" # us\n"), config.Plugin{Path: "plugins/notes", SHA256: digest,
		AllowTools: []string{"notes_*"}, ReadOnly: true, FS: []manifest.FS{{Path: "${project}", Access: "r"}}, HTTP: []config.HTTP{}})
	if err != nil {
		t.Fatal(err)
	}
	check(t, "file", `[server]
name = "team" # us

[[plugins]]
path = "plugins/notes"
sha256 = "`+digest+`"
allow_tools = ["notes_*"]
read_only = true
fs = [{ path = "${project}", access = "r" }]
http = []
`, string(got))
}

func TestAddPluginRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		file   string
		plugin config.Plugin
		want   string
	}{
		"a config with faults":    {"[sever]\n", config.Plugin{Path: "a"}, "sever: is not a known key"},
		"an array written inline": {"plugins = []\n", config.Plugin{Path: "a"}, "is not written as [[plugins]] tables"},
		"a duplicate directory":   {"[[plugins]]\npath = 'a'\n", config.Plugin{Path: "./a"}, "is also the directory of the plugin in line 2"},
		"a plugin without path":   {"", config.Plugin{}, "plugins[0].path: is empty"},
		"a relative directory":    {"", config.Plugin{Path: "a", FS: []manifest.FS{{Path: "x", Access: "r"}}}, "is not absolute"},
		"an unknown credential": {"", config.Plugin{Path: "a", HTTP: []config.HTTP{{Origin: parseOrigin(t, "https://a"),
			Credential: &config.Credential{Name: "x"}}}}, "there is no [credentials.x]"},
		"a path that is not UTF-8": {"", config.Plugin{Path: "a\xff"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := addPlugin("/etc/bulkhead.toml", []byte(c.file), c.plugin); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

func TestPinReplacesReferenceAndVersion(t *testing.T) {
	const fetched = "[[plugins]]\nfrom = 'file:/a-1.tar' # ours\nversion = '~1.0.0'\nsha256 = '%s'\nprefix = 'x'\n"
	old := strings.Repeat("0", 64)
	got, err := content(parse(t, fmt.Sprintf(fetched, old)).PinPlugin(0, config.Plugin{From: "file:/a-2.tar", Version: "~1.0.2", SHA256: digest}))
	if err != nil {
		t.Fatal(err)
	}
	check(t, "file", "[[plugins]]\nfrom = \"file:/a-2.tar\" # ours\nversion = \"~1.0.2\"\nsha256 = \""+digest+"\"\nprefix = 'x'\n", string(got))
	key, err := signature.ParseKey("RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3")
	if err != nil {
		t.Fatal(err)
	}
	signed, err := content(parse(t, string(got)).PinPlugin(0, config.Plugin{SHA256: old, Signer: key}))
	if c := parse(t, string(signed)); err != nil || c.Plugins[0].Signer != key || c.Plugins[0].SHA256 != old || c.Plugins[0].From != "file:/a-2.tar" {
		t.Errorf("%+v, %v", c.Plugins[0], err)
	}
	if c := parse(t, string(got)); c.Plugins[0].Path != "" || c.Plugins[0].From != "file:/a-2.tar" {
		t.Errorf("%+v", c.Plugins[0])
	}
}

func TestPinAndRemovePlugin(t *testing.T) {
	old := strings.Repeat("0", 64)
	two := "# a\n[[plugins]]\npath = 'a' # first\n[plugins.limits]\ntime = '1s'\n\n# b\n[[plugins]]\npath = 'b'\nsha256 = '" + old + "' # old\n"
	got, err := content(parse(t, two).PinPlugin(1, config.Plugin{SHA256: digest}))
	if err != nil {
		t.Fatal(err)
	}
	check(t, "replaced", strings.Replace(two, "'"+old+"'", `"`+digest+`"`, 1), string(got))
	if got, err = content(parse(t, two).PinPlugin(0, config.Plugin{SHA256: digest})); err != nil {
		t.Fatal(err)
	}
	check(t, "added", strings.Replace(two, "# first\n", "# first\nsha256 = \""+digest+"\"\n", 1), string(got))
	if got, err = parse(t, two).RemovePlugin(0); err != nil {
		t.Fatal(err)
	}
	check(t, "removed", two[strings.Index(two, "# b"):], string(got))
	if got, err := content(parse(t, two).PinPlugin(0, config.Plugin{SHA256: "x"})); err == nil {
		t.Errorf("an invalid digest was accepted: %q", got)
	}
	for _, index := range []int{-1, 2} {
		if got, err := content(parse(t, two).PinPlugin(index, config.Plugin{SHA256: digest})); err == nil {
			t.Errorf("the plugin %d, which does not exist, was pinned: %q", index, got)
		}
		if got, err := parse(t, two).RemovePlugin(index); err == nil {
			t.Errorf("the plugin %d, which does not exist, was removed: %q", index, got)
		}
	}
}

func parse(t *testing.T, text string) *config.Config {
	t.Helper()
	c, ps := config.Parse("/etc/bulkhead.toml", []byte(text))
	if c == nil {
		t.Fatal(ps)
	}
	return c
}

func addPlugin(file string, data []byte, p config.Plugin) ([]byte, error) {
	c, ps := config.Parse(file, data)
	if c == nil {
		return nil, ps.Err()
	}
	return content(c.AddPlugin(p))
}

func content(c *config.Config, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	return c.Content(), nil
}

// FuzzAddPlugin checks that an added plugin is parsed back unchanged, and that removing it restores the config.
func FuzzAddPlugin(f *testing.F) {
	f.Add([]byte(full), "other", "a*", "/x", "value")
	f.Add([]byte("[[plugins]]\npath = 'a'\n[plugins.limits]\n"), "b", "'", "${project}", "\"\\\n\x00")
	f.Add([]byte("[server]\r\nname = 's'"), "${env:A}", "[a-b]", "${env:A}/b", "${env:A}$${")
	f.Fuzz(func(t *testing.T, data []byte, path, glob, dir, value string) {
		p := config.Plugin{Path: path, AllowTools: []string{glob}, FS: []manifest.FS{{Path: dir, Access: "rw"}}, Env: map[string]string{"A": value}}
		got, err := addPlugin("/etc/bulkhead.toml", data, p)
		if err != nil {
			return
		}
		c, ps := config.Parse("/etc/bulkhead.toml", got)
		if ps.Err() != nil || !bytes.HasPrefix(got, data) {
			t.Fatalf("%q becomes %q: %v", data, got, ps)
		}
		last := len(c.Plugins) - 1
		if read := c.Plugins[last]; read.AllowTools[0] != glob || read.FS[0].Path != dir || read.Env["A"] != value {
			t.Errorf("%+v becomes %+v", p, read)
		}
		back, err := c.RemovePlugin(last)
		if err != nil || strings.TrimRight(string(back), "\r\n") != strings.TrimRight(string(data), "\r\n") {
			t.Errorf("removing it gives %q for %q (%v)", back, data, err)
		}
	})
}
