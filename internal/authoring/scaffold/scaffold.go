// Package scaffold creates the directory of a new plugin: a manifest, a handler for each kind of offer that the author wants, a
// native test where the SDK has one, scenarios, a readme, and the sources of the SDK unless a published one is used. The new plugin
// builds without changes. Start with Create and Write. The package builds nothing.
package scaffold

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tempdir"
	"github.com/bulkhead-mcp/bulkhead/internal/base/userfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// Features are the values of Options.With.
var Features = []string{"prompts", "resources", "http", "git"}

// Options describe a new plugin.
type Options struct {
	Name     string   // name of the plugin and of the new directory
	Dir      string   // existing directory in which the new one is created; empty: the working directory
	Language string   // one of Languages
	With     []string // what the plugin shows beside a tool: some of Features
	// Published refers to the published SDK instead of writing its sources.
	Published bool
	// Version is the version of the published Go SDK, which is that of the program, with a leading v.
	Version string
}

// Result is a created plugin.
type Result struct {
	Name     string   `json:"name"`
	Language string   `json:"lang"`
	Dir      string   `json:"dir"`   // the new directory
	Files    []string `json:"files"` // the author's files in it, without those of the SDK
	SDK      string   `json:"sdk"`   // path of the SDK in it; empty: the published SDK is used
	Next     []string `json:"next"`  // commands that test, build and call the plugin, in Dir
}

//go:embed all:templates
var templates embed.FS

// Create creates the directory of a plugin atomically. It changes nothing if the directory exists.
func Create(o Options) (Result, error) {
	l, err := check(o)
	if err != nil {
		return Result{}, err
	}
	target := filepath.Join(o.Dir, o.Name)
	d, err := newData(o, l)
	if err != nil {
		return Result{}, err
	}
	files, err := render(d, l)
	if err != nil {
		return Result{}, err
	}
	if d.SDK != "" {
		if err := l.addSDK(files); err != nil {
			return Result{}, err
		}
	}
	r := Result{Name: o.Name, Language: l.id, Dir: target, SDK: d.SDK, Next: d.Steps}
	for name := range files {
		if d.SDK == "" || name != d.SDK && !strings.HasPrefix(name, d.SDK+"/") {
			r.Files = append(r.Files, name)
		}
	}
	slices.Sort(r.Files)
	return r, Write(target, files)
}

// check validates o and returns its language.
func check(o Options) (language, error) {
	if !manifest.IsPluginName(o.Name) {
		return language{}, fmt.Errorf("%q is not a valid name of a plugin: use a to z, 0 to 9 and -, beginning with a letter, and at most 64 characters", o.Name)
	}
	if tool := prefix(o.Name) + "_branch"; !manifest.IsPortableName(tool) {
		return language{}, fmt.Errorf("the name %q is too long: the names of tools begin with it, and clients accept at most 64 characters", o.Name)
	}
	for _, feature := range o.With {
		if !slices.Contains(Features, feature) {
			return language{}, fmt.Errorf("--with %q is not one of %s", feature, strings.Join(Features, ", "))
		}
	}
	i := slices.IndexFunc(languages, func(l language) bool { return l.id == o.Language })
	if i < 0 {
		return language{}, fmt.Errorf("--lang %q: there is no SDK for it; the languages are %s", o.Language, strings.Join(Languages(), ", "))
	}
	if l := languages[i]; l.sdk == "" && len(o.With) > 0 {
		return language{}, fmt.Errorf("--with %s needs an SDK, which --lang %s does not use: choose another language", strings.Join(o.With, ","), l.id)
	}
	return languages[i], nil
}

// data is what the templates use.
type data struct {
	Name, Prefix                  string // the name, and the beginning of the names of tools and prompts
	Prompts, Resources, HTTP, Git bool
	Title, Needs, Files           string // of the language, for the readme
	ModuleFile, Build             string // for the manifest
	Command                       bool   // the plugin is a program that runs once for each call
	Steps                         []string
	Published                     bool
	SDK                           string            // path of the SDK in the directory; empty: it is published
	Versions                      map[string]string // versions that the language's files name
	Indirect                      []string          // requirements of the Go SDK, for go.mod
}

func newData(o Options, l language) (data, error) {
	d := data{
		Name: o.Name, Prefix: prefix(o.Name), Published: o.Published,
		Prompts: slices.Contains(o.With, "prompts"), Resources: slices.Contains(o.With, "resources"),
		HTTP: slices.Contains(o.With, "http"), Git: slices.Contains(o.With, "git"),
		Title: l.title, Needs: l.needs, Files: l.files,
		ModuleFile: strings.ReplaceAll(l.module, "NAME", o.Name), Build: strings.ReplaceAll(l.build, "NAME", o.Name),
		SDK: l.sdk, Command: l.sdk == "",
	}
	if o.Published && !l.copied {
		d.SDK = ""
	}
	d.Steps = slices.Concat(l.steps, []string{
		"bulkhead plugin build .",
		"bulkhead plugin check dist/plugins/" + o.Name,
		"bulkhead plugin test .",
		"bulkhead call " + d.Prefix + "_greet --plugins dist/plugins --arg name=Ada",
	})
	return d, l.prepare(o, &d)
}

// prefix returns the beginning of the names of a plugin's tools.
func prefix(name string) string { return strings.ReplaceAll(name, "-", "_") }

// Built returns the directory of the built plugin as it is named in another directory.
func (d data) Built() string { return "/path/to/" + d.Name + "/dist/plugins/" + d.Name }

// render returns the author's files by slash-separated path: those of the language, and those of all languages.
func render(d data, l language) (map[string][]byte, error) {
	files := map[string][]byte{}
	err := fs.WalkDir(templates, "templates", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path.Dir(name) == "templates" && path.Base(name) != l.id && slices.Contains(Languages(), path.Base(name)):
			return fs.SkipDir
		case entry.IsDir():
			return nil
		}
		text, err := templates.ReadFile(name)
		if err != nil {
			return err
		}
		t, err := template.New(name).Option("missingkey=error").Parse(string(text))
		if err != nil {
			return err
		}
		var out bytes.Buffer
		if err := t.Execute(&out, d); err != nil {
			return err
		}
		name = strings.TrimPrefix(strings.TrimPrefix(name, "templates/"), l.id+"/")
		files[strings.TrimSuffix(name, ".tmpl")] = out.Bytes()
		return nil
	})
	return files, err
}

// Write creates the directory target with files, which are given by slash-separated paths. It is an error if target exists. The directory
// appears atomically: Write writes the files to a temporary directory beside target, and renames it.
func Write(target string, files map[string][]byte) (err error) {
	switch _, err := os.Lstat(target); {
	case err == nil:
		return fmt.Errorf("%s exists already: nothing was changed; choose another name, or another directory with --dir", target)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	parent := filepath.Dir(target)
	if err := userfile.CheckOutput(".", parent); err != nil {
		return err
	}
	if info, err := os.Stat(parent); err != nil || !info.IsDir() {
		return fmt.Errorf("%s is not a directory: create it, or name another one with --dir", parent)
	}
	prefix := "." + filepath.Base(target) + ".bulkhead-new-"
	tempdir.SweepIn(parent, prefix) // a process that was killed cannot remove its own
	temp, err := tempdir.In(parent, prefix)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, temp.Remove()) }()
	// The temporary directory is private. The permissions of the new one are left to the umask.
	tree := filepath.Join(temp.Path, filepath.Base(target))
	for name, content := range files {
		file := filepath.Join(tree, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(file, content, 0o666); err != nil {
			return err
		}
	}
	return os.Rename(tree, target)
}

// Texts of the templates that authors are to replace.
const (
	descriptionLeftover = "replace this with what the plugin does"
	readmeLeftover      = "The last command prints `Hello, Ada!`."
)

// Leftovers says which of a plugin's texts are still those of the templates.
func Leftovers(description, readme string) []string {
	var all []string
	if strings.Contains(description, descriptionLeftover) {
		all = append(all, "the description in plugin.toml is that of the template: say what the plugin does")
	}
	if strings.Contains(readme, readmeLeftover) {
		all = append(all, "README.md is that of the template: say what the plugin is for, and what it needs")
	}
	return all
}
