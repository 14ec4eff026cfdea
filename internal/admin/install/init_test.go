package install_test

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/admintest"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/install"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
)

// files returns the paths of all files of the workspace, relative to it.
func files(t *testing.T, w *admintest.Workspace) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(w.Dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			all = append(all, strings.TrimPrefix(path, w.Dir+"/"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A manifest must not cause init to create files that the plugin could not write.
func TestInitCreatesOnlyWhatThePluginCouldWrite(t *testing.T) {
	for name, c := range map[string]struct {
		file, want string
		config     string
	}{
		"a Git hook":                       {file: "${project}/.git/hooks/pre-commit", want: "files in a .git directory cannot be written"},
		"a new repository":                 {file: "${project}/sub/.git/config", want: "files in a .git directory cannot be written"},
		"a config":                         {file: "${project}/sub/bulkhead.toml", want: "belongs to the host"},
		"a config in upper case":           {file: "${project}/BULKHEAD.toml", want: "belongs to the host"},
		"a file behind a link in the home": {file: "${home}/.own/link/authorized_keys", want: "it is not in any directory granted to hostile"},
		"a file that exists behind a link": {file: "${home}/.own/link/known_hosts", want: "it is not in any directory granted to hostile"},
		"a file below a file":              {file: "${project}/file/f", want: "while a file, or a symbolic link that cannot be followed, is in its path"},
		"a file behind a dangling link":    {file: "${project}/dangling/f", want: "while a file, or a symbolic link that cannot be followed, is in its path"},
		"a hidden file":                    {file: "${project}/.env", config: "[defaults]\ndeny = ['**/.env']\n", want: `hidden by "**/.env"`},
		"a file in a directory that is only read": {file: "${project}/f", want: "granted read-only",
			config: "[[plugins]]\nname = 'hostile'\nfs = [{ path = '${project}', access = 'r' }, { path = '${home}/.own', access = 'rw' }]\n"},
		"a file in a directory that is not granted": {file: "${project}/f", want: "it is not in any directory granted to hostile",
			config: "[[plugins]]\nname = 'hostile'\nfs = [{ path = '${home}/.own', access = 'rw' }]\n"},
	} {
		t.Run(name, func(t *testing.T) {
			w := admintest.New(t)
			w.Plugin(t, "hostile", fmt.Sprintf(`[capabilities]
fs = [{ path = "${project}", access = "rw" }, { path = "${home}/.own", access = "rw" }]
[[requires]]
why = "data"
paths = ["${home}/.own/data"]
create = [{ path = %q, content = "#!/bin/sh" }, { path = "${home}/.own/data" }]
`, c.file))
			w.Write(t, "work/.git/HEAD", "ref: refs/heads/main\n")
			w.Write(t, "home/.ssh/known_hosts", "")
			w.Write(t, "home/.own/f", "")
			if err := os.Symlink("../.ssh", w.Path("home/.own/link")); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink("none", w.Path("work/dangling")); err != nil {
				t.Fatal(err)
			}
			w.Write(t, "work/file", "")
			if c.config != "" {
				w.Config(t, c.config)
			}
			before := files(t, w)
			o := w.Options()
			o.PluginsDir = w.Path("plugins")
			_, err := install.ProposeSetup(o, install.Preparation{Plugins: []string{"hostile"}})
			hosttest.WantUsage(t, err, "plugin hostile: ", "cannot be created", c.want)
			if after := files(t, w); !slices.Equal(before, after) {
				t.Errorf("files: got %q, want %q", after, before)
			}
		})
	}
}

// preparedEnv returns the variables that init grants to the plugin "asking".
func preparedEnv(t *testing.T, w *admintest.Workspace, wanted install.Preparation) (map[string]string, error) {
	t.Helper()
	o := w.Options()
	o.PluginsDir = w.Path("plugins")
	wanted.Plugins = append(wanted.Plugins, "asking")
	s, err := install.ProposeSetup(o, wanted)
	if err != nil {
		return nil, err
	}
	c, problems := config.Parse("bulkhead.toml", []byte(s.Adds))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	return c.Plugins[len(c.Plugins)-1].Env, nil
}

const askingManifest = `[capabilities]
env = ["HOME", "MACHINE", "MODE"]
[[requires]]
env = "HOME"
why = "the home directory"
value = "${env:HOME}"
[[requires]]
env = "MACHINE"
why = "the machine's id"
value = "${env:MACHINE}"
optional = true
`

func TestInitPassesOptionalVariablesOnWhereTheyAreSet(t *testing.T) {
	for name, c := range map[string]struct {
		machine *string
		want    map[string]string
	}{
		"set":   {new("laptop"), map[string]string{"HOME": "${env:HOME}", "MACHINE": "${env:MACHINE}"}},
		"empty": {new(""), map[string]string{"HOME": "${env:HOME}"}},
		"unset": {nil, map[string]string{"HOME": "${env:HOME}"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := admintest.New(t)
			w.Plugin(t, "asking", askingManifest)
			w.Env["HOME"] = w.Path("home")
			if c.machine != nil {
				w.Env["MACHINE"] = *c.machine
			}
			got, err := preparedEnv(t, w, install.Preparation{})
			if err != nil || !maps.Equal(got, c.want) {
				t.Errorf("got %q, %v, want %q", got, err, c.want)
			}
		})
	}
}

func TestInitGrantsNamedVariablesOrRefusesThem(t *testing.T) {
	newWorkspace := func() *admintest.Workspace {
		w := admintest.New(t)
		w.Plugin(t, "asking", askingManifest)
		w.Env["HOME"] = w.Path("home")
		return w
	}
	got, err := preparedEnv(t, newWorkspace(), install.Preparation{Env: map[string]string{"MODE": "a ${b}", "MACHINE": "named"}})
	want := map[string]string{"HOME": "${env:HOME}", "MODE": "a $${b}", "MACHINE": "named"}
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	_, err = preparedEnv(t, newWorkspace(), install.Preparation{Env: map[string]string{"MACHNE": "named"}})
	hosttest.WantUsage(t, err, "--env MACHNE has no effect", "asking does not request this variable")
	w := newWorkspace()
	w.Config(t, "[[plugins]]\npath = 'plugins/asking'\n")
	_, err = preparedEnv(t, w, install.Preparation{Env: map[string]string{"MACHINE": "named"}})
	hosttest.WantUsage(t, err, "--env MACHINE has no effect", "does not change the existing tables of asking", `env = { MACHINE = "…" }`)
}
