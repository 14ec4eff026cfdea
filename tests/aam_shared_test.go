//go:build unix

package tests

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/registry"
)

// serveWithState serves aam with a separate state directory, like another user who shares the granted directories.
func (p *testUser) serveWithState(state string) *server {
	p.t.Helper()
	cmd := p.command("--plugin", "aam", "--allow-write")
	cmd.Env = append(cmd.Env, "XDG_STATE_HOME="+p.path(state))
	return startServer(p.t, cmd)
}

// writePackage makes the user's project a package with the given number of files.
func (p *testUser) writePackage(name, version string, files int) {
	p.t.Helper()
	putFile(p.t, p.project+"/aam.yaml", packageManifest(name, version))
	putFile(p.t, p.project+"/skill/SKILL.md", "# "+name+" "+version+"\n")
	for i := range files {
		putFile(p.t, fmt.Sprintf("%s/skill/file-%03d.md", p.project, i), "x")
	}
}

// publishedVersions reads the registry and reports every published version. It checks that index, metadata, checksums
// and archives agree and that no other file exists.
func (p *testUser) publishedVersions() map[string]bool {
	p.t.Helper()
	r := registry.Registry{Files: files.Disk{}, Name: "team", Root: p.path("registry")}
	index, err := r.Index()
	if err != nil {
		p.t.Fatal(err)
	}
	all, want := map[string]bool{}, []string{"index.yaml"}
	for _, entry := range index {
		dir := "packages/" + entry.Name
		want = append(want, dir+"/metadata.yaml")
		about, err := r.Metadata(entry.Name)
		if err != nil || len(about.Versions) == 0 {
			p.t.Fatalf("%s: %v, %v", entry.Name, about, err)
		}
		if last := about.Versions[len(about.Versions)-1].Version; entry.Latest != last {
			p.t.Errorf("%s: got latest version %s in the index, want %s", entry.Name, entry.Latest, last)
		}
		for _, release := range about.Versions {
			archive := dir + "/versions/" + release.Version + ".aam"
			want = append(want, archive)
			sum := sha256.Sum256([]byte(readFile(p.t, p.path("registry/"+archive))))
			if !strings.HasSuffix(release.Checksum, hex.EncodeToString(sum[:])) {
				p.t.Errorf("%s: checksum differs from %s", archive, release.Checksum)
			}
			all[entry.Name+"@"+release.Version] = true
		}
	}
	slices.Sort(want)
	got := slices.Sorted(maps.Keys(withoutDirs(snapshot(p.t, p.path("registry")))))
	if diff := cmp.Diff(want, got); diff != "" {
		p.t.Errorf("the registry's files (-want +got)\n%s", diff)
	}
	return all
}

// TestConcurrentPublishByTwoUsersLosesNothing uses servers that share only the registry. It checks that exactly the
// acknowledged versions are published, and that each is complete.
func TestConcurrentPublishByTwoUsersLosesNothing(t *testing.T) {
	t.Parallel()
	p := newTestUser(t, teamConfig())
	people := []*testUser{p.inProject("one"), p.inProject("two")}
	servers := []*server{people[0].serveWithState("state-one"), people[1].serveWithState("state-two")}
	want := map[string]bool{}
	for round := range 20 {
		for i, who := range people {
			name := "shared"
			if round%4 == 3 {
				name = fmt.Sprintf("own-%d", i)
			}
			version := fmt.Sprintf("%d.%d.0", i+1, round)
			who.writePackage(name, version, 0)
			want[name+"@"+version] = true
		}
		for _, s := range servers {
			s.sendCall("aam_publish", `{}`)
		}
		for i, s := range servers {
			if _, r := s.nextAnswer(); r.IsError {
				t.Errorf("round %d, server %d: %+v", round, i, r)
			}
		}
	}
	for _, s := range servers {
		s.end()
	}
	if diff := cmp.Diff(want, p.publishedVersions()); diff != "" {
		t.Errorf("published (-want +got)\n%s", diff)
	}
}

// TestPublishRecoversAfterOtherUserIsKilled checks that the surviving server gets the lock and commits or rolls back the
// interrupted publication.
func TestPublishRecoversAfterOtherUserIsKilled(t *testing.T) {
	t.Parallel()
	p := newTestUser(t, teamConfig())
	one, two := p.inProject("one"), p.inProject("two")
	other := two.serveWithState("state-two")
	answered, tried := map[string]bool{}, map[string]bool{}
	stopped := 0
	for round := range 8 {
		killed := one.serveWithState("state-one")
		one.writePackage("shared", fmt.Sprintf("1.%d.0", round), skillFiles)
		two.writePackage("shared", fmt.Sprintf("2.%d.0", round), 0)
		tried[fmt.Sprintf("shared@1.%d.0", round)] = true
		killed.sendCall("aam_publish", `{}`)
		for end := time.Now().Add(patience); !p.isPublishing() && len(killed.lines) == 0; time.Sleep(200 * time.Microsecond) {
			if time.Now().After(end) {
				t.Fatal("no publication started")
			}
		}
		other.sendCall("aam_publish", `{}`)
		time.Sleep(time.Duration(4*round) * time.Millisecond)
		killed.kill()
		if _, r := other.nextAnswer(); r.IsError {
			t.Errorf("round %d: %+v", round, r)
		}
		answered[fmt.Sprintf("shared@2.%d.0", round)] = true
		got := p.publishedVersions()
		if !got[fmt.Sprintf("shared@1.%d.0", round)] {
			stopped++
		}
		for version := range answered {
			if !got[version] {
				t.Errorf("round %d: %s is lost", round, version)
			}
		}
		for version := range got {
			if !answered[version] && !tried[version] {
				t.Errorf("round %d: unexpected version %s", round, version)
			}
		}
	}
	other.end()
	t.Logf("%d of the killed publications were rolled back", stopped)
	if stopped == 0 {
		t.Error("no kill interrupted a publication")
	}
}

// isPublishing reports whether the registry holds files of an uncommitted publication.
func (p *testUser) isPublishing() bool {
	errFound := errors.New("found")
	err := filepath.WalkDir(p.path("registry"), func(path string, _ fs.DirEntry, err error) error {
		if strings.Contains(filepath.Base(path), ".aam-tmp-") || filepath.Base(path) == ".publishing.yaml" {
			return errFound
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	return errors.Is(err, errFound)
}

// TestConcurrentInstallsIntoOneProjectLoseNothing uses two servers with separate state directories that install
// packages and add registries at the same time.
func TestConcurrentInstallsIntoOneProjectLoseNothing(t *testing.T) {
	t.Parallel()
	p, s := newInstalledUser(t, nil)
	s.end()
	const rounds = 6
	author := p.inProject("author").serveAAM()
	var packages []string
	for i := range 2 * rounds {
		packages = append(packages, fmt.Sprintf("pkg-%02d", i))
		p.inProject("author").publish(author, packages[i], "1.0.0")
		putFile(t, p.path("registry/"+packages[i]+"/.keep"), "")
	}
	author.end()
	servers := []*server{p.serveWithState("state-one"), p.serveWithState("state-two")}
	atOnce := func(tool string, arguments func(i int) string) {
		t.Helper()
		for i, s := range servers {
			s.sendCall(tool, arguments(i))
		}
		for i, s := range servers {
			if _, r := s.nextAnswer(); r.IsError {
				t.Errorf("%s %s: %+v", tool, arguments(i), r)
			}
		}
	}
	for round := range rounds {
		atOnce("aam_install", func(i int) string { return installArguments("cursor", packages[2*round+i]) })
		atOnce("aam_registry_add", func(i int) string {
			name := packages[2*round+i]
			return jsonOf(t, members{"name": name, "url": p.path("registry/" + name)})
		})
	}
	var installed, registries struct{ Result []struct{ Name string } }
	servers[0].callStructured("aam_list", `{}`, &installed)
	servers[0].callStructured("aam_registry_list", `{}`, &registries)
	for what, got := range map[string][]struct{ Name string }{"installed": installed.Result, "registries": registries.Result} {
		var names []string
		for _, item := range got {
			if strings.HasPrefix(item.Name, "pkg-") {
				names = append(names, item.Name)
			}
		}
		slices.Sort(names)
		if diff := cmp.Diff(packages, names); diff != "" {
			t.Errorf("%s (-want +got)\n%s", what, diff)
		}
	}
	for _, s := range servers {
		s.end()
	}
}
