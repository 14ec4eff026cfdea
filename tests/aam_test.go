//go:build unix

package tests

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
)

// teamConfig is an aam configuration with one registry.
func teamConfig() map[string]string {
	return map[string]string{
		"home/.aam/config.yaml": "default_platform: cursor\nregistries: [{name: team, url: 'file://BASE/registry', default: true}]\n",
	}
}

// packageManifest is the manifest of a package with one skill, in the directory skill beside it.
func packageManifest(name, version string) string {
	return fmt.Sprintf("name: %s\nversion: %s\ndescription: About trees\nartifacts: {skills: [{name: %s, path: skill, description: d}]}\n", name, version, name)
}

// serveAAM serves aam alone, with the tools that write.
func (p *testUser) serveAAM() *server {
	p.t.Helper()
	return p.serve("--plugin", "aam", "--allow-write")
}

// callStructured makes a call that must succeed and decodes its structured content.
func (s *server) callStructured(tool, arguments string, into any) {
	s.t.Helper()
	s.lastID++
	line := s.ask(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, s.lastID, tool, arguments))
	var answer struct {
		Result struct {
			IsError    bool            `json:"isError"`
			Structured json.RawMessage `json:"structuredContent"`
		} `json:"result"`
	}
	if err := json.Unmarshal([]byte(line), &answer); err != nil || answer.Result.IsError || answer.Result.Structured == nil {
		s.t.Fatalf("%s: %v %s", describeCall(tool, arguments), err, line)
	}
	if err := json.Unmarshal(answer.Result.Structured, into); err != nil {
		s.t.Fatalf("%s: %v %s", tool, err, line)
	}
}

// installArguments are the arguments of aam_install.
func installArguments(platform string, packages ...string) string {
	raw, _ := json.Marshal(members{"platform": platform, "packages": packages}) // strings only: cannot fail
	return string(raw)
}

var resolvedAt = regexp.MustCompile(`(?m)^resolved_at: .*$`)

// files is a snapshot without the host's state. The time in lock files is masked, since every install rewrites it.
func (p *testUser) files() map[string]string {
	p.t.Helper()
	files := withoutState(snapshot(p.t, p.dir))
	for name, text := range files {
		if strings.HasSuffix(name, "/aam-lock.yaml") || strings.HasSuffix(name, "/deployments.yaml") {
			files[name] = resolvedAt.ReplaceAllString(text, "resolved_at: then")
		}
	}
	return files
}

// withoutDirs removes directories from a snapshot, since uninstalling leaves empty directories, as in the aam CLI.
func withoutDirs(files map[string]string) map[string]string {
	maps.DeleteFunc(files, func(_, content string) bool { return content == fs.ModeDir.String() })
	return files
}

// publish writes a package into the project and publishes it.
func (p *testUser) publish(s *server, name, version string) {
	p.t.Helper()
	putFile(p.t, p.project+"/aam.yaml", packageManifest(name, version))
	putFile(p.t, p.project+"/skill/SKILL.md", "# "+name+"\n")
	s.mustCall("aam_publish", `{}`)
}

// newInstalledUser returns a user whose project already has a package installed, and so a lock file.
func newInstalledUser(t *testing.T, files map[string]string) (*testUser, *server) {
	t.Helper()
	all := teamConfig()
	maps.Copy(all, files)
	p := newTestUser(t, all)
	author := p.inProject("basics")
	s := author.serveAAM()
	author.publish(s, "basics", "1.0.0")
	s.end()
	user := p.inProject("user")
	putFile(t, p.path("user/.aam/.keep"), "")
	putFile(t, p.path("user/CLAUDE.md"), "Mine\r\n\r\nand more\n")
	putFile(t, p.path("user/AGENTS.md"), "Mine\n")
	s = user.serveAAM()
	s.mustCall("aam_install", installArguments("cursor", "basics"))
	return user, s
}

// TestPackageRoundTripOnEveryPlatform publishes a package, installs it in another project on every platform, and
// uninstalls it.
func TestPackageRoundTripOnEveryPlatform(t *testing.T) {
	t.Parallel()
	p, user := newInstalledUser(t, map[string]string{
		"project/skills/look/SKILL.md":        "# Look\n",
		"project/skills/look/run.sh":          "#!/bin/sh\n",
		"project/agents/judge/agent.yaml":     "name: judge\ndescription: Judges\nsystem_prompt: p.md\n",
		"project/agents/judge/p.md":           "Judge.\n",
		"project/prompts/ask.md":              "Ask.\n",
		"project/instructions/style.md":       "Be brief.\n",
		"project/notes/what-is-no-package.md": "x",
	})
	if err := os.Chmod(p.path("project/skills/look/run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(p.path("home/.codex")); err != nil { // granted, but absent
		t.Fatal(err)
	}
	author := p.inProject("project").serveAAM()
	author.mustCall("aam_create_package", `{"name":"@me/round-trip","description":"There and back"}`)
	var report struct {
		Valid bool `json:"valid"`
		Count int  `json:"artifact_count"`
	}
	if author.callStructured("aam_validate", `{}`, &report); !report.Valid || report.Count != 4 {
		t.Errorf("validated: %+v", report)
	}
	var published struct{ Checksum string }
	author.callStructured("aam_publish", `{"tag":"stable"}`, &published)
	author.end()

	var found struct{ Result []struct{ Name string } }
	if user.callStructured("aam_search", `{"query":"and back","package_type":"agent"}`, &found); len(found.Result) != 1 || found.Result[0].Name != "@me/round-trip" {
		t.Errorf("found: %+v", found)
	}
	before := withoutDirs(p.files())
	for platform, deployed := range map[string]string{
		"cursor": "user/.cursor/skills/", "claude": "user/.claude/skills/", "copilot": "user/.github/skills/", "codex": "home/.codex/skills/",
	} {
		var done struct {
			Installed []struct{ Name, Version, Checksum string }
		}
		user.callStructured("aam_install", installArguments(platform, "@me/round-trip@^0.1.0"), &done)
		if len(done.Installed) != 1 || done.Installed[0].Checksum != published.Checksum {
			t.Fatalf("%s: installed %+v, published %+v", platform, done, published)
		}
		p.checkExecutable(deployed)
		var health struct {
			Healthy bool
			Checks  []struct{ Name, Status string }
		}
		if user.callStructured("aam_doctor", `{}`, &health); !health.Healthy || len(health.Checks) < 5 {
			t.Errorf("%s: %+v", platform, health)
		}
		user.mustCall("aam_uninstall", `{"package_name":"@me/round-trip"}`)
		if diff := cmp.Diff(before, withoutDirs(p.files())); diff != "" {
			t.Errorf("%s (-before +after)\n%s", platform, diff)
		}
	}
	user.end()
}

// checkExecutable checks that run.sh of the deployed skill is executable.
func (p *testUser) checkExecutable(skills string) {
	p.t.Helper()
	for name := range p.files() {
		if strings.HasPrefix(name, skills) && strings.HasSuffix(name, "/run.sh") {
			if info, err := os.Stat(p.path(name)); err != nil || info.Mode().Perm()&0o100 == 0 {
				p.t.Errorf("%s is not executable: %v", name, err)
			}
			return
		}
	}
	p.t.Errorf("the skill is not in %s", skills)
}

// TestListsFollowChangesOfFiles checks that the host does not use what it cached of the lock file, the manifests and the index
// after the plugin or another program has changed the file.
func TestListsFollowChangesOfFiles(t *testing.T) {
	t.Parallel()
	user, s := newInstalledUser(t, nil)
	defer s.end()
	expect := func(when, want string) {
		t.Helper()
		for range 2 {
			var list struct {
				Result []struct {
					Name  string `json:"name"`
					Count int    `json:"artifact_count"`
				} `json:"result"`
			}
			var found struct {
				Result []struct {
					Name, Version string
				} `json:"result"`
			}
			s.callStructured("aam_list", `{}`, &list)
			s.callStructured("aam_search", `{"query":""}`, &found)
			if got := fmt.Sprint(list.Result, found.Result); got != want {
				t.Errorf("%s: got %s, want %s", when, got, want)
			}
		}
	}
	expect("after the install", "[{basics 1}] [{basics 1.0.0}]")
	manifest := user.project + "/.aam/packages/basics/aam.yaml"
	putFile(t, manifest, packageManifest("basics", "1.0.0")+"keywords: [x]\n"+"author: Me\n")
	expect("after a change that the list does not show", "[{basics 1}] [{basics 1.0.0}]")
	putFile(t, manifest, strings.Replace(packageManifest("basics", "1.0.0"), "[{", "[{name: more, path: skill, description: d}, {", 1))
	expect("after a skill was added", "[{basics 2}] [{basics 1.0.0}]")
	putFile(t, manifest, "name: [")
	expect("with a broken manifest", "[{basics 0}] [{basics 1.0.0}]")
	user.publish(s, "extra", "2.0.0")
	expect("after a publication", "[{basics 0}] [{basics 1.0.0} {extra 2.0.0}]")
	s.mustCall("aam_uninstall", `{"package_name":"basics"}`)
	expect("after the uninstall", "[] [{basics 1.0.0} {extra 2.0.0}]")
}

// TestConcurrentPublishByTwoServersLosesNothing has two servers that publish to separate packages and to a shared one.
func TestConcurrentPublishByTwoServersLosesNothing(t *testing.T) {
	t.Parallel()
	p := newTestUser(t, teamConfig())
	people := []*testUser{p.inProject("one"), p.inProject("two")}
	servers := []*server{people[0].serveAAM(), people[1].serveAAM()}
	// publish makes both servers publish at the same time and reports which succeeded.
	publish := func(manifest func(i int) string) (ok []bool) {
		t.Helper()
		for i, who := range people {
			putFile(t, who.project+"/aam.yaml", manifest(i))
			putFile(t, who.project+"/skill/SKILL.md", fmt.Sprintf("# Of %d\n", i))
		}
		for _, s := range servers {
			s.sendCall("aam_publish", `{}`)
		}
		for i, s := range servers {
			_, r := s.nextAnswer()
			if ok = append(ok, !r.IsError); r.IsError && !strings.HasPrefix(r.Text, "[AAM_INVALID_ARGUMENT]") {
				t.Errorf("server %d: %+v", i, r)
			}
		}
		return ok
	}
	var want []string
	for round := range 5 {
		for _, name := range []string{"own", "shared"} {
			ok := publish(func(i int) string {
				version, full := fmt.Sprintf("%d.%d.0", i+1, round), name
				if name == "own" {
					full = fmt.Sprintf("own-%d", i)
				}
				want = append(want, full+"@"+version)
				return packageManifest(full, version)
			})
			if !slices.Equal(ok, []bool{true, true}) {
				t.Fatalf("%s, round %d: %v", name, round, ok)
			}
		}
	}
	if ok := publish(func(int) string { return packageManifest("shared", "3.0.0") }); ok[0] == ok[1] {
		t.Errorf("want exactly one server to publish the version, got %v", ok)
	}
	for _, s := range servers {
		s.end()
	}

	putFile(t, p.path("user/.aam/.keep"), "")
	s := p.inProject("user").serveAAM()
	var found struct {
		Result []struct{ Name, Version string }
	}
	s.callStructured("aam_search", `{"query":""}`, &found)
	slices.SortFunc(found.Result, func(a, b struct{ Name, Version string }) int { return strings.Compare(a.Name, b.Name) })
	if diff := cmp.Diff([]struct{ Name, Version string }{{"own-0", "1.4.0"}, {"own-1", "2.4.0"}, {"shared", "3.0.0"}}, found.Result); diff != "" {
		t.Errorf("the index (-want +got)\n%s", diff)
	}
	for _, spec := range append(want, "shared@3.0.0") {
		var done struct {
			Installed []struct{ Name, Version string }
		}
		s.callStructured("aam_install", fmt.Sprintf(`{"packages":[%q],"no_deploy":true,"force":true}`, spec), &done)
		if len(done.Installed) != 1 || done.Installed[0].Name+"@"+done.Installed[0].Version != spec {
			t.Errorf("%s: %+v", spec, done)
		}
	}
	s.end()
	if exists(p.path("registry/.publishing.yaml")) {
		t.Error("the publish journal still exists")
	}
}

// skillFiles is the number of files in the package whose install is killed.
const skillFiles = 200

// TestKilledInstallIsAtomic kills the process at various times. The next call must complete or roll back the install.
func TestKilledInstallIsAtomic(t *testing.T) {
	testenv.All(t, "kills many servers")
	t.Parallel()
	p, s := newInstalledUser(t, nil)
	s.end()
	author := p.inProject("project")
	for i := range skillFiles - 1 {
		putFile(t, p.path(fmt.Sprintf("project/skill/file-%03d.md", i)), "x")
	}
	s = author.serveAAM()
	author.publish(s, "big", "1.0.0")
	author.publish(s, "small", "1.0.0")
	s.end()

	before := p.files()
	interrupted := 0
	for _, moment := range []struct {
		name    string
		reached func() bool
	}{
		{"at its start", func() bool { return true }},
		{"while unpacking", func() bool { return exists(p.path("user/.aam/.tmp")) || exists(p.path("user/.aam/packages/big")) }},
		{"after unpacking", func() bool { return exists(p.path("user/.aam/packages/big")) }},
		{"while deploying", func() bool { return exists(p.path("user/.cursor/skills/big")) }},
	} {
		s := p.serveAAM()
		s.sendCall("aam_install", installArguments("cursor", "big"))
		for end := time.Now().Add(patience); !moment.reached(); time.Sleep(200 * time.Microsecond) {
			if time.Now().After(end) {
				t.Fatalf("%s: not reached", moment.name)
			}
		}
		s.kill()
		left := exists(p.path("user/.aam/.tmp"))
		if left {
			interrupted++
		}
		t.Logf("killed %s: files left: %t", moment.name, left)
		p.checkAfterKilledInstall(before, moment.name)
	}
	if interrupted == 0 {
		t.Error("no kill interrupted an install")
	}
}

// checkAfterKilledInstall makes the next call, checks that the package is either completely installed or absent, and
// uninstalls it.
func (p *testUser) checkAfterKilledInstall(before map[string]string, moment string) {
	p.t.Helper()
	s := p.serveAAM()
	s.mustCall("aam_install", installArguments("cursor", "small"))
	if exists(p.path("user/.aam/.tmp")) {
		p.t.Errorf("%s: .aam/.tmp is left", moment)
	}
	s.mustCall("aam_uninstall", `{"package_name":"small"}`)
	var health struct{ Healthy bool }
	if s.callStructured("aam_doctor", `{}`, &health); !health.Healthy {
		p.t.Errorf("%s: aam_doctor reports problems", moment)
	}
	if list := s.mustCall("aam_list", `{}`); strings.Contains(list, `"big"`) {
		for _, dir := range []string{"user/.aam/packages/big/skill", "user/.cursor/skills/big"} {
			if files := filesBelow(p.files(), dir); len(files) != skillFiles {
				p.t.Errorf("%s: %d files in %s", moment, len(files), dir)
			}
		}
		s.mustCall("aam_uninstall", `{"package_name":"big"}`)
	}
	s.end()
	if diff := cmp.Diff(before, p.files()); diff != "" {
		p.t.Errorf("%s (-before +after)\n%s", moment, diff)
	}
}
