package discovery_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
)

// places has the files and directories of the world of these tests. $W stands for the path of the world.
var places = hosttest.Files{
	"work/sub":           "/",
	"file":               "",
	"repo/.git":          "/",
	"repo/deep/er":       "/",
	"linked/.git":        "gitdir: elsewhere",
	"home/app":           "/",
	"home/repo/.git":     "/",
	"home/repo/deep":     "/",
	"homely":             "/",
	"hom":                "/",
	"dotfiles/home/.git": "/",
	"dotfiles/home/app":  "/",
}

func TestProjectIs(t *testing.T) {
	for name, c := range map[string]struct {
		dir, option string
		env         map[string]string
		want        string
	}{
		"what --project names":                             {dir: "work", option: "$W/repo/deep", want: "$W/repo/deep"},
		"what --project names, from the working directory": {dir: "work", option: "sub/../sub", want: "$W/work/sub"},
		"the target of the link that --project names":      {dir: "work", option: "$W/link", want: "$W/repo/deep"},
		"not the repository around what is named":          {dir: "work", option: "$W/repo/deep/er", want: "$W/repo/deep/er"},
		"what $BULKHEAD_PROJECT names":                     {dir: "repo", env: map[string]string{"BULKHEAD_PROJECT": "$W/work"}, want: "$W/work"},
		"what --project names, before what the variable names": {dir: "repo", option: "$W/work",
			env: map[string]string{"BULKHEAD_PROJECT": "$W/home/app"}, want: "$W/work"},
		"the repository if the variable is empty":                          {dir: "repo", env: map[string]string{"BULKHEAD_PROJECT": ""}, want: "$W/repo"},
		"the repository around the working directory":                      {dir: "repo/deep/er", want: "$W/repo"},
		"a worktree whose .git is a file":                                  {dir: "linked", want: "$W/linked"},
		"the working directory where no repository is":                     {dir: "work/sub", want: "$W/work/sub"},
		"the target of the link that is the working directory":             {dir: "link", want: "$W/repo"},
		"a directory in the home directory":                                {dir: "home/app", want: "$W/home/app"},
		"a repository in the home directory":                               {dir: "home/repo/deep", want: "$W/home/repo"},
		"a directory whose name begins with that of the home directory":    {dir: "homely", want: "$W/homely"},
		"a directory whose name is a prefix of that of the home directory": {dir: "hom", want: "$W/hom"},
		"the working directory if the home directory is in a repository":   {dir: "dotfiles/home/app", env: map[string]string{"HOME": "$W/dotfiles/home"}, want: "$W/dotfiles/home/app"},
		"found although the path of the home directory has a link":         {dir: "home/app", env: map[string]string{"HOME": "$W/homelink"}, want: "$W/home/app"},
		"found although HOME is not absolute and is ignored":               {dir: "home", env: map[string]string{"HOME": "home"}, want: "$W/home"},
	} {
		t.Run(name, func(t *testing.T) {
			w, o := placed(t, c.dir, c.option, c.env)
			got, err := discovery.FindPlaces(o)
			if err != nil {
				t.Fatal(err)
			}
			want := strings.ReplaceAll(c.want, "$W", w.Dir)
			if got.Project != want || got.NoProject != "" {
				t.Errorf("got %q (%s), want %q", got.Project, got.NoProject, want)
			}
		})
	}
}

// placed returns a world with the files of places, and the options of a host with the working directory dir.
func placed(t *testing.T, dir, project string, env map[string]string) (*hosttest.World, host.Options) {
	w := hosttest.New(t, places)
	for link, to := range map[string]string{"link": "repo/deep", "homelink": "home"} {
		if err := os.Symlink(to, w.Dir+"/"+link); err != nil {
			t.Fatal(err)
		}
	}
	for name, value := range env {
		w.Env[name] = strings.ReplaceAll(value, "$W", w.Dir)
	}
	o := w.Options()
	o.Project = strings.ReplaceAll(project, "$W", w.Dir)
	if o.System.Dir = dir; !strings.HasPrefix(dir, "/") {
		o.System.Dir = w.Dir + "/" + dir
	}
	resolved, err := filepath.EvalSymlinks(o.System.Dir)
	if err != nil {
		t.Fatal(err)
	}
	o.System.Dir = resolved
	return w, o
}

func TestNoProjectIsFoundIn(t *testing.T) {
	for name, c := range map[string]struct {
		dir string
		env map[string]string
	}{
		"the root":                  {dir: "/"},
		"the home folder":           {dir: "home"},
		"the home folder by a link": {dir: "homelink"},
		"the home folder that HOME names by a link":     {dir: "home", env: map[string]string{"HOME": "$W/homelink"}},
		"a home folder that is a repository":            {dir: "dotfiles/home", env: map[string]string{"HOME": "$W/dotfiles/home"}},
		"a folder that holds the home folder":           {dir: "dotfiles", env: map[string]string{"HOME": "$W/dotfiles/home"}},
		"a home folder whose HOME ends in a slash":      {dir: "home", env: map[string]string{"HOME": "$W/home/"}},
		"a repository's folder that holds it: the root": {dir: "/", env: map[string]string{"HOME": "/"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, o := placed(t, c.dir, "", c.env)
			got, err := discovery.FindPlaces(o)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{"the working directory, " + o.System.Dir + ", cannot be the project", "--project DIR", "BULKHEAD_PROJECT"} {
				if got.Project != "" || !strings.Contains(got.NoProject, want) {
					t.Errorf("got %q, %q; want no project and %q", got.Project, got.NoProject, want)
				}
			}
		})
	}
}

func TestNamedProjectIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		option, env string
		want        []string
	}{
		"the root":                       {option: "/", want: []string{"--project: / cannot be the project", "bulkhead.toml"}},
		"the home folder":                {option: "$W/home", want: []string{"--project: $W/home cannot be the project"}},
		"the home folder by a link":      {option: "$W/homelink", want: []string{"--project: $W/home cannot be the project"}},
		"what holds the home folder":     {option: "$W", want: []string{"--project: $W cannot be the project"}},
		"the home folder, by a variable": {env: "$W/home", want: []string{"$BULKHEAD_PROJECT: $W/home cannot be the project"}},
		"a folder that is not there":     {option: "nowhere", want: []string{"--project: $W/work/nowhere: there is no such directory"}},
		"a file":                         {env: "$W/file", want: []string{"$BULKHEAD_PROJECT: $W/file is not a directory"}},
		"a folder in a file":             {option: "$W/file/x", want: []string{"--project: $W/file/x: not a directory"}},
	} {
		t.Run(name, func(t *testing.T) {
			w, o := placed(t, "work", c.option, map[string]string{"BULKHEAD_PROJECT": c.env})
			_, err := discovery.FindPlaces(o)
			for _, want := range c.want {
				hosttest.WantUsage(t, err, strings.ReplaceAll(want, "$W", w.Dir))
			}
		})
	}
}

func TestPlacesBesideTheProject(t *testing.T) {
	for name, c := range map[string]struct {
		env  map[string]string
		want config.Places
	}{
		"XDG_STATE_HOME has the state directories": {map[string]string{"XDG_STATE_HOME": "$W/x/"}, config.Places{Home: "$W/home", State: "$W/x/bulkhead"}},
		"without it they are in the home folder": {map[string]string{"XDG_STATE_HOME": ""},
			config.Places{Home: "$W/home", State: "$W/home/.local/state/bulkhead"}},
		"one that is not absolute does not count": {map[string]string{"XDG_STATE_HOME": "x"},
			config.Places{Home: "$W/home", State: "$W/home/.local/state/bulkhead"}},
		"nor does a home folder that is not":    {map[string]string{"HOME": "x", "XDG_STATE_HOME": ""}, config.Places{}},
		"a home folder need not be there":       {map[string]string{"HOME": "$W/no/../nobody"}, config.Places{Home: "$W/nobody", State: "$W/state/bulkhead"}},
		"links to the home folder are resolved": {map[string]string{"HOME": "$W/homelink"}, config.Places{Home: "$W/home", State: "$W/state/bulkhead"}},
	} {
		t.Run(name, func(t *testing.T) {
			w, o := placed(t, "work", "", c.env)
			got, err := discovery.FindPlaces(o)
			if err != nil {
				t.Fatal(err)
			}
			inWorld := func(path string) string { return strings.ReplaceAll(path, "$W", w.Dir) }
			hosttest.WantEqual(t, got, config.Places{Project: w.Dir + "/work", Cwd: w.Dir + "/work", Home: inWorld(c.want.Home), State: inWorld(c.want.State)})
		})
	}
}
