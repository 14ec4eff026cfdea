package install_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/admintest"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/install"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
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
