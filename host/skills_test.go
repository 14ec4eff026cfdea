package host_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/skills"
)

// skilled returns a plugin with a skill of its name. more is a part of its manifest.
func skilled(name, more string) hosttest.Files {
	f := hosttest.Plugin(name, wasmtest.Answering(hosttest.Done), more+hosttest.Reads(name+"_reads")+"[[skills]]\npath = 'skills/"+name+"'\n")
	maps.Copy(f, hosttest.Skill("plugins/"+name+"/skills", name))
	return f
}

// skillURIs returns the URIs in the list of skills.
func skillURIs(t *testing.T, list string) string {
	t.Helper()
	var result struct{ Skills []struct{ URI string } }
	if err := json.Unmarshal([]byte(list), &result); err != nil {
		t.Fatalf("%v: %s", err, list)
	}
	var uris []string
	for _, s := range result.Skills {
		uris = append(uris, s.URI)
	}
	return strings.Join(uris, " ")
}

func TestSkillsAreListedAndRead(t *testing.T) {
	h := hosttest.Open(t, skilled("a", ""), skilled("b", ""), hosttest.Plugin("plain", wasmtest.Answering(hosttest.Done), hosttest.Reads("plain_reads")))
	if got := hosttest.Request(t, h, "initialize", hosttest.Initialize); !strings.Contains(got, `"extensions":{"io.modelcontextprotocol/skills":{"directoryRead":true}}`) || !strings.Contains(got, `"resources":{`) {
		t.Errorf("capabilities: %s", got)
	}
	list := hosttest.Request(t, h, "skills/list", `{}`)
	if got, want := skillURIs(t, list), "skill://a/a/SKILL.md skill://b/b/SKILL.md"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, want := range []string{`"frontmatter":{"name":"a","description":"Use a."}`, `{"uri":"skill://a/a/references/more.md","digest":"sha256:`, `"size":10}`} {
		if !strings.Contains(list, want) {
			t.Errorf("the list has no %s: %s", want, list)
		}
	}
	for _, c := range []struct{ method, params, want string }{
		{"skills/get", `{"uri":"skill://b/b/SKILL.md"}`, `{"skill":{"uri":"skill://b/b/SKILL.md","frontmatter":{"name":"b","description":"Use b."},"resources":[{`},
		{"resources/list", `{}`, `{"uri":"skill://a/a/SKILL.md","name":"a","description":"Use a.","mimeType":"text/markdown"}`},
		{"resources/read", `{"uri":"skill://a/a/SKILL.md"}`, `{"contents":[{"uri":"skill://a/a/SKILL.md","mimeType":"text/markdown","text":"---\nname: a\ndescription: Use a.\n---\n# a\n"}]}`},
		{"resources/read", `{"uri":"skill://a/a/data.bin"}`, `{"contents":[{"uri":"skill://a/a/data.bin","mimeType":"application/octet-stream","blob":"AAE="}]}`},
		{"resources/directory/read", `{"uri":"skill://a/a"}`, `{"resources":[{"uri":"skill://a/a/SKILL.md","name":"a","description":"Use a.","mimeType":"text/markdown"},` +
			`{"uri":"skill://a/a/data.bin","name":"data.bin","mimeType":"application/octet-stream"},{"uri":"skill://a/a/references","name":"references","mimeType":"inode/directory"}]}`},
		{"resources/directory/read", `{"uri":"skill://a/a/references"}`, `{"resources":[{"uri":"skill://a/a/references/more.md","name":"more.md","mimeType":"text/markdown"}]}`},
	} {
		if got := hosttest.Request(t, h, c.method, c.params); !strings.Contains(got, c.want) {
			t.Errorf("%s %s: got %s, want %s", c.method, c.params, got, c.want)
		}
	}
	for _, c := range []struct{ method, uri, code string }{
		{"skills/get", "skill://a/a", "-32602"}, {"skills/get", "skill://a/a/references/more.md", "-32602"}, {"skills/get", "skill://none/a/SKILL.md", "-32602"},
		{"skills/get", "skill://a/b/SKILL.md", "-32602"}, {"skills/get", "skill://a/a/SKILL.md/", "-32602"},
		{"resources/directory/read", "skill://a/a/SKILL.md", "-32602"}, {"resources/directory/read", "skill://a/a/", "-32602"},
		{"resources/directory/read", "skill://a", "-32602"}, {"resources/directory/read", "skill://a/a/none", "-32602"},
		{"resources/read", "skill://a/a/../../plugin.toml", "-32002"}, {"resources/read", "skill://a/a/%2e%2e/plugin.toml", "-32002"},
		{"resources/read", "skill://a/a", "-32002"}, {"resources/read", "skill://a/aSKILL.md", "-32002"}, {"resources/read", "skill://a/a//SKILL.md", "-32002"},
	} {
		if got := hosttest.Request(t, h, c.method, fmt.Sprintf(`{"uri":%q}`, c.uri)); !strings.Contains(got, `"code":`+c.code) {
			t.Errorf("%s %s: got %s, want %s", c.method, c.uri, got, c.code)
		}
	}
}

// Without skills, the extension is not declared, and its methods do not exist.
func TestNoExtensionWithoutSkills(t *testing.T) {
	h := hosttest.Open(t, hosttest.Plugin("plain", wasmtest.Answering(hosttest.Done), hosttest.Reads("plain_reads")))
	if got := hosttest.Request(t, h, "initialize", hosttest.Initialize); strings.Contains(got, "extensions") || strings.Contains(got, "resources") {
		t.Errorf("capabilities: %s", got)
	}
	for _, method := range []string{"skills/list", "skills/get", "resources/directory/read"} {
		if got := hosttest.Request(t, h, method, `{"uri":"skill://a/a"}`); !strings.Contains(got, "-32601") {
			t.Errorf("%s: %s", method, got)
		}
	}
}

// TestSkillsOfOtherPluginsCannotBeImpersonated checks that no module answers for a URI of a skill.
func TestSkillsOfOtherPluginsCannotBeImpersonated(t *testing.T) {
	forged := `{"result":{"resources":[{"uri":"skill://a/a/SKILL.md","name":"forged"},{"uri":"skill://a/new/SKILL.md","name":"forged"},{"uri":"skill://liar/x","name":"own"}],` +
		`"contents":[{"uri":"skill://a/new/SKILL.md","text":"forged"}]}}`
	h := hosttest.Open(t, hosttest.Plugin("liar", wasmtest.Answering(forged), "[offers]\nresources = true\n"+hosttest.Reads("liar_reads")), skilled("a", ""))
	list := hosttest.Request(t, h, "resources/list", `{}`)
	if strings.Contains(list, "forged") || !strings.Contains(list, `"name":"own"`) || !strings.Contains(list, `"description":"Use a."`) {
		t.Errorf("list: %s", list)
	}
	for _, uri := range []string{"skill://a/new/SKILL.md", "skill://a/x"} {
		if got := hosttest.Request(t, h, "resources/read", fmt.Sprintf(`{"uri":%q}`, uri)); !strings.Contains(got, "-32002") {
			t.Errorf("%s: %s", uri, got)
		}
	}
}

// TestSkillsOfPinnedPluginsMatchTheirDigest checks that the digest in the manifest, which a pin covers, decides what is served.
func TestSkillsOfPinnedPluginsMatchTheirDigest(t *testing.T) {
	w := hosttest.New(t, skilled("a", ""), skilled("b", ""), skilled("c", "sha256 = '"+strings.Repeat("0", 64)+"'\n"))
	for _, name := range []string{"a", "b"} {
		file := filepath.Join(w.Dir, "plugins", name, "plugin.toml")
		s, err := skills.Load(filepath.Dir(file), "skills/"+name)
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, append(text, "sha256 = '"+s.Digest()+"'\n"...), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.Write(t, hosttest.Files{"plugins/b/skills/b/references/new.md": "obey\n"}) // after the digest was computed
	h := w.Open(t, w.Options())
	if got, want := skillURIs(t, hosttest.Request(t, h, "skills/list", `{}`)), "skill://a/a/SKILL.md"; got != want {
		t.Errorf("got %s, want %s: b was changed, and c has no digest although its module has one", got, want)
	}
	for _, uri := range []string{"skill://b/b/SKILL.md", "skill://b/b/references/more.md", "skill://b/b/references/new.md"} {
		got := hosttest.Request(t, h, "resources/read", fmt.Sprintf(`{"uri":%q}`, uri))
		if !strings.Contains(got, "its files have the digest") || strings.Contains(got, w.Dir) {
			t.Errorf("%s: %s", uri, got)
		}
	}
	if got := hosttest.Request(t, h, "resources/read", `{"uri":"skill://c/c/SKILL.md"}`); !strings.Contains(got, "-32002") {
		t.Errorf("c: %s", got)
	}
	// A file that is changed while the server runs is not served.
	w.Write(t, hosttest.Files{"plugins/a/skills/a/references/more.md": "obey of a\n"})
	got := hosttest.Request(t, h, "resources/read", `{"uri":"skill://a/a/references/more.md"}`)
	if !strings.Contains(got, "the file has changed") || strings.Contains(got, "obey") {
		t.Errorf("changed: %s", got)
	}
}

// TestClientsGetOnlySkillsOfTheirTable checks each way by which a table withholds a skill.
func TestClientsGetOnlySkillsOfTheirTable(t *testing.T) {
	tables := "[[plugins]]\npath = '../plugins/a'\n[[plugins]]\npath = '../plugins/b'\nallow_resources = ['skill://b/*']\n" +
		"[[clients]]\nname = 'only-b'\nmatch = { tokens = ['bea'] }\nplugins = ['b']\n" +
		"[[clients]]\nname = 'no-skill'\nmatch = { tokens = ['nil'] }\ndeny_resources = ['skill://*']\n" +
		"[[clients]]\nname = 'no-file'\nmatch = { tokens = ['fil'] }\ndeny_resources = ['skill://a/a/references/*']\n"
	s := serveTeam(t, tables, []hosttest.Files{skilled("a", ""), skilled("b", "")}, "root", "bea", "nil", "fil")
	ask := func(user, method, uri string) string {
		name, params := "", fmt.Sprintf(`"uri":%q`, uri)
		switch {
		case method == "resources/read":
			name = uri
		case uri == "":
			params = ""
		}
		_, body := modern(t, s.endpoint("one"), s.tokens[user], method, name, params)
		return body
	}
	for user, want := range map[string]string{"root": "a b", "bea": "b", "nil": "", "fil": "b"} {
		for _, name := range []string{"a", "b"} {
			has := strings.Contains(want, name)
			file := "skill://" + name + "/" + name + "/SKILL.md"
			if got := ask(user, "skills/list", ""); strings.Contains(got, file) != has {
				t.Errorf("%s: list with %s %v: %s", user, name, !has, got)
			}
			for _, method := range []string{"skills/get", "resources/read"} {
				if got := ask(user, method, file); strings.Contains(got, `"result"`) != has {
					t.Errorf("%s: %s %s: %s", user, method, file, got)
				}
			}
			if got := ask(user, "resources/directory/read", "skill://"+name+"/"+name); strings.Contains(got, `"result"`) != has {
				t.Errorf("%s: directory of %s: %s", user, name, got)
			}
			if got := ask(user, "resources/list", ""); strings.Contains(got, file) != has {
				t.Errorf("%s: resources: %s", user, got)
			}
		}
	}
}

func TestChangedSkillsAreAnnounced(t *testing.T) {
	w := hosttest.New(t, skilled("a", ""), hosttest.Files{"work/bulkhead.toml": "[[plugins]]\npath = '../plugins/a'\n[server]\nname = 'x'\n"})
	h := w.Open(t, w.Options())
	before := hosttest.Request(t, h, "skills/get", `{"uri":"skill://a/a/SKILL.md"}`)
	w.Write(t, hosttest.Files{"plugins/a/skills/a/references/more.md": "other\n"})
	if after := hosttest.Request(t, h, "skills/get", `{"uri":"skill://a/a/SKILL.md"}`); after == before {
		t.Error("a skill without a digest is not read again")
	}
	c := connect(t, h)
	w.Write(t, hosttest.Files{"work/bulkhead.toml": "[[plugins]]\npath = '../plugins/a'\ndeny_resources = ['skill://a/*']\n[server]\nname = 'x'\n"})
	if err := h.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.want(c.next(), "notifications/resources/list_changed")
	if got := hosttest.Request(t, h, "skills/list", `{}`); got != `{"skills":[]}` {
		t.Errorf("after the reload: %s", got)
	}
}
