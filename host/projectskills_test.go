package host_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
)

// projectConfig is a config whose project has skills.
const projectConfig = "[server]\nname = 'x'\nskills = ['${project}/skills']\n[[plugins]]\npath = '../plugins/plain'\n"

// projectWorld returns a World whose project has a config and these files.
func projectWorld(t *testing.T, config string, files ...hosttest.Files) *hosttest.World {
	t.Helper()
	w := hosttest.New(t, append(files, hosttest.Plugin("plain", wasmtest.Answering(hosttest.Done), hosttest.Reads("plain_reads")))...)
	w.Write(t, hosttest.Files{"work/bulkhead.toml": config})
	return w
}

func TestProjectSkillsAreListedAndRead(t *testing.T) {
	w := projectWorld(t, projectConfig, hosttest.Skill("work/skills", "review"), hosttest.Skill("work/skills", "tidy"), hosttest.Files{"work/skills/README.md": "no skill"})
	h := w.Open(t, w.Options())
	if got := hosttest.Request(t, h, "initialize", hosttest.Initialize); !strings.Contains(got, `"io.modelcontextprotocol/skills":{"directoryRead":true}`) {
		t.Errorf("capabilities: %s", got)
	}
	list := hosttest.Request(t, h, "skills/list", `{}`)
	if got, want := skillURIs(t, list), "skill://_project/review/SKILL.md skill://_project/tidy/SKILL.md"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, c := range []struct{ method, uri, want string }{
		{"skills/get", "skill://_project/review/SKILL.md", `{"skill":{"uri":"skill://_project/review/SKILL.md","frontmatter":{"name":"review","description":"Use review."},"resources":[{`},
		{"resources/list", "", `{"uri":"skill://_project/tidy/SKILL.md","name":"tidy","description":"Use tidy.","mimeType":"text/markdown"}`},
		{"resources/read", "skill://_project/review/references/more.md", `"text":"more of review\n"`},
		{"resources/read", "skill://_project/review/data.bin", `"blob":"AAE="`},
		{"resources/directory/read", "skill://_project/review/references", `{"resources":[{"uri":"skill://_project/review/references/more.md","name":"more.md","mimeType":"text/markdown"}]}`},
	} {
		if got := hosttest.Request(t, h, c.method, fmt.Sprintf(`{"uri":%q}`, c.uri)); !strings.Contains(got, c.want) {
			t.Errorf("%s %s: got %s, want %s", c.method, c.uri, got, c.want)
		}
	}
	for _, uri := range []string{"skill://_project/none/SKILL.md", "skill://_project/review/none", "skill://_project/review/../../bulkhead.toml", "skill://_project/../bulkhead.toml",
		"skill://_project/.git/config", "skill://_project/README.md", "skill://_project/", "skill://_project//review/SKILL.md", "skill://_project/review"} {
		if got := hosttest.Request(t, h, "resources/read", fmt.Sprintf(`{"uri":%q}`, uri)); !strings.Contains(got, `"code":-32002`) {
			t.Errorf("%s: %s", uri, got)
		}
	}
	// A skill is read again for each request.
	w.Write(t, hosttest.Files{"work/skills/review/references/more.md": "changed\n"})
	if got := hosttest.Request(t, h, "resources/read", `{"uri":"skill://_project/review/references/more.md"}`); !strings.Contains(got, "changed") {
		t.Errorf("after a change: %s", got)
	}
}

func TestProjectSkillsAreOffByDefault(t *testing.T) {
	w := projectWorld(t, strings.ReplaceAll(projectConfig, "skills =", "# skills ="), hosttest.Skill("work/skills", "review"))
	h := w.Open(t, w.Options())
	if got := hosttest.Request(t, h, "initialize", hosttest.Initialize); strings.Contains(got, "extensions") {
		t.Errorf("capabilities: %s", got)
	}
	if got := hosttest.Request(t, h, "skills/list", `{}`); !strings.Contains(got, "-32601") {
		t.Errorf("list: %s", got)
	}
}

// TestMalformedProjectSkillHarmsOnlyItself checks that each malformed skill is left out with a message in the log, which names the file and a
// remedy, and that the others are offered.
func TestMalformedProjectSkillHarmsOnlyItself(t *testing.T) {
	w := projectWorld(t, strings.Replace(projectConfig, "skills']", "skills', '${project}/more', '${project}/absent', '${project}/linked']", 1),
		hosttest.Skill("work/skills", "good"), hosttest.Skill("work/more", "good"), hosttest.Skill("work/more", "second"), hosttest.Skill("elsewhere", "secret"),
		hosttest.Files{
			"work/skills/yaml/SKILL.md":   "---\nname: yaml\ndescription: d\nx: yes\n---\n",
			"work/skills/none/readme.md":  "no SKILL.md",
			"work/skills/hidden/SKILL.md": "---\nname: hidden\ndescription: d\n---\n\u202e\n",
			"work/skills/Bad name/x":      "",
		})
	if runtime.GOOS != "windows" { // which has no such names
		w.Write(t, hosttest.Files{"work/skills/escape\x1b/x": ""})
	}
	for target, name := range map[string]string{"../../elsewhere/secret": "work/skills/secret", "../elsewhere": "work/linked", "loop": "work/skills/loop"} {
		if err := os.Symlink(target, filepath.Join(w.Dir, name)); err != nil {
			t.Skipf("no symbolic links: %v", err)
		}
	}
	h := w.Open(t, w.Options())
	for range 2 {
		if got, want := skillURIs(t, hosttest.Request(t, h, "skills/list", `{}`)), "skill://_project/good/SKILL.md skill://_project/second/SKILL.md"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	log := w.Log.String()
	for _, want := range []string{
		"yaml: the skill is not offered: SKILL.md: line 4: versions of YAML read yes differently", "none: the skill is not offered: there is no SKILL.md",
		"hidden: the skill is not offered: SKILL.md: line 5 has a character that is invisible", `"Bad name" in`, "is not a valid name of a skill",
		"secret in", "loop in", "is a symbolic link, which is not followed", "good: the skill is not offered, since", "bulkhead.toml:3: server.skills[2]: there is no directory",
		`linked" is a symbolic link to`, "below the project",
	} {
		if strings.Count(log, want) == 0 {
			t.Errorf("the log has no %q: %s", want, log)
		}
	}
	if runtime.GOOS != "windows" && !strings.Contains(log, `"escape\x1b" in`) || strings.Contains(log, "\x1b") {
		t.Errorf("control characters of names: %q", log)
	}
	if strings.Count(log, "none: the skill is not offered") != 1 {
		t.Error("problems that have not changed are logged for each request")
	}
	for _, name := range []string{"yaml", "none", "secret", "loop"} {
		got := hosttest.Request(t, h, "resources/read", fmt.Sprintf(`{"uri":"skill://_project/%s/SKILL.md"}`, name))
		if !strings.Contains(got, `"code"`) || strings.Contains(got, w.Dir) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestClientsGetOnlyProjectSkillsOfTheirTable checks each way by which a table withholds skills of a project, and that each project has its own.
func TestClientsGetOnlyProjectSkillsOfTheirTable(t *testing.T) {
	clients := "[server]\nname = 'x'\nskills = ['${project}/skills']\n"
	for name, keys := range map[string]string{
		"plugins": "plugins = ['calm']", "named": "plugins = ['calm', '_project']", "denied": "deny_resources = ['skill://_project/*']", "one": "allow_resources = ['skill://_project/a/*']",
		"file": "deny_resources = ['*/more.md']", "fs": "fs = [{ path = '${project}/other', access = 'r' }]", "around": "fs = [{ path = '${project}', access = 'r' }]",
		"hidden": "deny = ['a']", "part": "fs = [{ path = '${project}/skills/a', access = 'r' }]", "project": "projects = ['two']",
	} {
		clients += fmt.Sprintf("[[clients]]\nname = 'c-%[1]s'\nmatch = { tokens = ['%[1]s'] }\n%[2]s\n", name, keys)
	}
	want := map[string]string{"root": "a b", "plugins": "", "named": "a b", "denied": "", "one": "a", "file": "", "fs": "", "around": "a b", "hidden": "b", "part": ""}
	users := []string{"project"}
	for user := range want {
		users = append(users, user)
	}
	s := serveTeam(t, clients, []hosttest.Files{hosttest.Skill("one/skills", "a"), hosttest.Skill("one/skills", "b"), hosttest.Skill("two/skills", "c")}, users...)
	for user, names := range want {
		_, list := modern(t, s.endpoint("one"), s.tokens[user], "skills/list", "", "")
		for _, name := range []string{"a", "b"} {
			has := strings.Contains(names, name)
			file := "skill://_project/" + name + "/SKILL.md"
			if strings.Contains(list, file) != has {
				t.Errorf("%s: list with %s %v: %s", user, name, !has, list)
			}
			for _, method := range []string{"skills/get", "resources/read"} {
				header := ""
				if method == "resources/read" {
					header = file
				}
				if _, got := modern(t, s.endpoint("one"), s.tokens[user], method, header, fmt.Sprintf(`"uri":%q`, file)); strings.Contains(got, `"result"`) != has {
					t.Errorf("%s: %s %s: %s", user, method, file, got)
				}
			}
		}
	}
	if _, got := modern(t, s.endpoint("two"), s.tokens["project"], "skills/list", "", ""); !strings.Contains(got, "skill://_project/c/SKILL.md") || strings.Contains(got, "_project/a") {
		t.Errorf("the other project: %s", got)
	}
}

// TestErrorsOfWithheldSkillsAreUnknown checks that a client cannot distinguish a malformed skill from none if its table may withhold a file of it,
// whose name the reason may contain.
func TestErrorsOfWithheldSkillsAreUnknown(t *testing.T) {
	tables := "[[plugins]]\npath = '../plugins/a'\n[server]\nname = 'x'\nskills = ['${project}/skills']\n"
	for user, keys := range map[string]string{"denied": "deny_resources = ['skill://*/broken/SKILL.md', 'skill://a/a/SKILL.md']", "file": "deny_resources = ['*/secret.md']", "other": "allow_resources = ['skill://other/*']"} {
		tables += fmt.Sprintf("[[clients]]\nname = 'c-%[1]s'\nmatch = { tokens = ['%[1]s'] }\n%[2]s\n", user, keys)
	}
	broken := hosttest.Files{"one/skills/broken/secret.md": "\u202e", "plugins/a/skills/a/secret.md": "\u202e"}
	s := serveTeam(t, tables, []hosttest.Files{skilled("a", ""), hosttest.Skill("one/skills", "broken"), broken}, "root", "denied", "file", "other")
	for _, method := range []string{"resources/read", "skills/get", "resources/directory/read"} {
		ask := func(user, uri string) string {
			header := ""
			if method == "resources/read" {
				header = uri
			}
			_, body := modern(t, s.endpoint("one"), s.tokens[user], method, header, fmt.Sprintf(`"uri":%q`, uri))
			return strings.ReplaceAll(body, uri, "")
		}
		for _, skill := range []string{"skill://_project/broken", "skill://a/a"} {
			uri := skill + "/SKILL.md"
			if got := ask("root", uri); !strings.Contains(got, "secret.md: line 1 has a character") {
				t.Errorf("%s %s without a table: %s", method, uri, got)
			}
			for _, user := range []string{"denied", "file", "other"} {
				if got, want := ask(user, uri), ask(user, "skill://_project/none/SKILL.md"); got != want {
					t.Errorf("%s %s of %s: got %s, want %s", method, uri, user, got, want)
				}
			}
		}
	}
	if log := s.Log.String(); !strings.Contains(log, "a skill cannot be read") || !strings.Contains(log, "secret.md: line 1 has a character") {
		t.Errorf("the log does not say why: %s", log)
	}
}

func TestCeilingBoundsProjectSkills(t *testing.T) {
	for ceiling, want := range map[string]string{
		"[ceiling]\nread_only = true\n":                                           "a b",
		"[ceiling]\nskills = false\n":                                             "",
		"[ceiling]\ndeny = ['b/**']\n":                                            "a",
		"[ceiling]\nfs = [{ path = '/elsewhere', access = 'r' }]\n":               "",
		"[ceiling]\nfs = [{ path = '${project}/skills', access = 'r' }]\n":        "a b",
		"[ceiling]\nfs = [{ path = '${project}/skills/a', access = 'r' }]\n":      "",
		"[[plugins]]\nname = 'plain'\nfs = [{ path = '/nowhere', access = 'r' }]": "a b",
	} {
		w := projectWorld(t, projectConfig, hosttest.Skill("work/skills", "a"), hosttest.Skill("work/skills", "b"), hosttest.Files{hosttest.Ceiling: ceiling})
		h := w.Open(t, w.Options())
		got := hosttest.Request(t, h, "skills/list", `{}`)
		for _, name := range []string{"a", "b"} {
			if has := strings.Contains(want, name); strings.Contains(got, "skill://_project/"+name+"/") != has {
				t.Errorf("%q: %s", ceiling, got)
			}
		}
		if log := w.Log.String(); want == "" && !(strings.Contains(log, "bulkhead.toml:3: server.skills[0]") && strings.Contains(log, "ask the administrator")) {
			t.Errorf("%q: the log says %s", ceiling, log)
		}
	}
}

func TestDeniedFilesAreNoPartOfProjectSkills(t *testing.T) {
	w := projectWorld(t, projectConfig+"[defaults]\ndeny = ['**/*.bin', 'b']\n", hosttest.Skill("work/skills", "a"), hosttest.Skill("work/skills", "b"))
	h := w.Open(t, w.Options())
	if got := hosttest.Request(t, h, "skills/list", `{}`); strings.Contains(got, "data.bin") || skillURIs(t, got) != "skill://_project/a/SKILL.md" {
		t.Errorf("list: %s", got)
	}
	for _, uri := range []string{"skill://_project/a/data.bin", "skill://_project/b/SKILL.md"} {
		if got := hosttest.Request(t, h, "resources/read", fmt.Sprintf(`{"uri":%q}`, uri)); !strings.Contains(got, "-32002") {
			t.Errorf("%s: %s", uri, got)
		}
	}
}

// TestNoModuleAnswersForProjectSkills checks that a plugin cannot offer URIs of the project's skills, whether or not there are any.
func TestNoModuleAnswersForProjectSkills(t *testing.T) {
	forged := `{"result":{"resources":[{"uri":"skill://_project/new/SKILL.md","name":"forged"},{"uri":"skill://liar/x","name":"own"}],"contents":[{"uri":"skill://_project/new/SKILL.md","text":"forged"}]}}`
	liar := hosttest.Plugin("liar", wasmtest.Answering(forged), "[offers]\nresources = ['skill://']\n"+hosttest.Reads("liar_reads"))
	for _, config := range []string{"", "skills = ['${project}/skills']\n"} {
		w := projectWorld(t, "[server]\nname = 'x'\n"+config+"[[plugins]]\npath = '../plugins/liar'\n", liar)
		h := w.Open(t, w.Options())
		if got := hosttest.Request(t, h, "resources/list", `{}`); strings.Contains(got, "forged") || !strings.Contains(got, `"name":"own"`) {
			t.Errorf("list: %s", got)
		}
		if got := hosttest.Request(t, h, "resources/read", `{"uri":"skill://_project/new/SKILL.md"}`); !strings.Contains(got, "-32002") {
			t.Errorf("read: %s", got)
		}
	}
}

func TestChangedProjectSkillsAreAnnounced(t *testing.T) {
	w := projectWorld(t, projectConfig, hosttest.Skill("work/skills", "a"))
	h := w.Open(t, w.Options())
	c := connect(t, h)
	for name, files := range map[string]hosttest.Files{"a new skill": hosttest.Skill("work/skills", "b"), "a changed file": {"work/skills/a/references/more.md": "longer than before\n"}} {
		w.Write(t, files)
		if err := h.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Log(name)
		c.want(c.next(), "notifications/resources/list_changed")
	}
	if got := hosttest.Request(t, h, "skills/list", `{}`); !strings.Contains(got, "_project/b/") {
		t.Errorf("list: %s", got)
	}
	w.Write(t, hosttest.Files{"work/bulkhead.toml": strings.ReplaceAll(projectConfig, "skills =", "# skills =")})
	if err := h.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.want(c.next(), "notifications/resources/list_changed")
	if got := hosttest.Request(t, h, "skills/list", `{}`); got != `{"skills":[]}` {
		t.Errorf("after the reload: %s", got)
	}
}

// TestNotedSkillsAreBounded checks that a reload examines no more files of skills than are watched, of whatever projects.
func TestNotedSkillsAreBounded(t *testing.T) {
	config := projectConfig
	files := hosttest.Skill("work/skills", "a")
	for _, name := range []string{"z", "b", "c"} { // two of them have as many files as are watched
		config += fmt.Sprintf("[[projects]]\nname = '%s'\npath = '$W/%[1]s'\n", name)
		files[name+"/skills/s/SKILL.md"] = "---\nname: s\ndescription: d\n---\n"
		for i := range 1000 {
			files[fmt.Sprintf("%s/skills/s/%d", name, i)] = ""
		}
	}
	w := projectWorld(t, "", files)
	w.Write(t, hosttest.Files{"work/bulkhead.toml": strings.ReplaceAll(config, "$W", w.Dir)})
	c, err := catalog.Look(w.Options())
	if err != nil {
		t.Fatal(err)
	}
	projects := c.Projects()
	c.SkillsState = "of a server"
	host.NoteSkills(projects, c)
	for _, p := range projects {
		if isNoted := p.SkillsState != ""; isNoted != (p.Project != "z") || p == c && p.SkillsState != "of a server" {
			t.Errorf("project %q has the state %q", p.Project, p.SkillsState)
		}
	}
}
