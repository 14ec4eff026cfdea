package main

import (
	"bytes"
	"cmp"
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

// linked is what the compiled files of a platform consist of.
type linked struct {
	program *debug.BuildInfo
	plugins map[string]*debug.BuildInfo // by name
}

// module is a linked third-party module. The go.mod in the directory from selects it.
type module struct {
	*debug.Module
	from string
}

// linkedIn reads the build information of the program and the plugins of a platform.
func (r *release) linkedIn(p platform) (linked, error) {
	l := linked{plugins: map[string]*debug.BuildInfo{}}
	var err error
	if l.program, err = buildinfo.ReadFile(filepath.Join(r.tree(p), p.exe())); err != nil {
		return l, err
	}
	for _, name := range r.plugins {
		if !r.isGo(name) {
			l.plugins[name] = &debug.BuildInfo{Path: mainModule + "/plugins/" + name, Main: debug.Module{Path: mainModule}}
			if l.plugins[name].Deps, err = required(filepath.Join(r.root, "plugins", name, "go.mod")); err != nil {
				return l, err
			}
			continue
		}
		if l.plugins[name], err = moduleInfo(filepath.Join(r.tree(p), "plugins", name, name+".wasm")); err != nil {
			return l, err
		}
		l.plugins[name].GoVersion = r.goVersion // which the information in the module lacks
	}
	return l, nil
}

// isGo reports whether a plugin is built by the go command. A module in another language has no build information; the licences of what it
// contains are in the plugin's file LICENSE.
func (r *release) isGo(plugin string) bool {
	_, err := os.Stat(filepath.Join(r.root, "plugins", plugin, "main.go"))
	return err == nil
}

// required returns the modules that a go.mod names, whose sources a plugin in another language contains. Without the file there are none.
func required(file string) ([]*debug.Module, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	parsed, err := modfile.Parse(file, data, nil)
	if err != nil {
		return nil, err
	}
	var modules []*debug.Module
	for _, r := range parsed.Require {
		modules = append(modules, &debug.Module{Path: r.Mod.Path, Version: r.Mod.Version})
	}
	return modules, nil
}

// moduleInfo reads the build information of a WebAssembly module, which package buildinfo does not know. It is between
// the markers that the go command puts around it in the variable runtime.modinfo.
func moduleInfo(file string) (*debug.BuildInfo, error) {
	const start, end = "0w\xaf\f\x92t\b\x02A\xe1\xc1\a\xe6\xd6\x18\xe6", "\xf92C1\x86\x18 r\x00\x82B\x10A\x16\xd8\xf2"
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	_, rest, ok := bytes.Cut(data, []byte(start))
	text, _, ended := bytes.Cut(rest, []byte(end))
	if !ok || !ended {
		return nil, fmt.Errorf("%s contains no build information", file)
	}
	return debug.ParseBuildInfo(string(text))
}

// modules returns the linked third-party modules, sorted, each version once. A plugin with a go.mod is a module of its own, which may
// link other versions than the program.
func (l linked) modules(root string) []module {
	var all []module
	add := func(info *debug.BuildInfo, from string) {
		for _, m := range info.Deps {
			if m.Replace != nil {
				m = m.Replace
			}
			all = append(all, module{m, from})
		}
	}
	add(l.program, root)
	for _, name := range slices.Sorted(maps.Keys(l.plugins)) {
		from := filepath.Join(root, "plugins", name)
		if _, err := os.Stat(filepath.Join(from, "go.mod")); err != nil {
			from = root
		}
		add(l.plugins[name], from)
	}
	slices.SortStableFunc(all, func(a, b module) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), semver.Compare(a.Version, b.Version))
	})
	return slices.CompactFunc(all, func(a, b module) bool { return a.Path == b.Path && a.Version == b.Version })
}

// licenceFile matches the names of files that have to accompany copies of a module.
var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)(\.(md|txt))?$`)

// writeNotices writes the licences of all linked modules, and of Go's own library, to a file in dir.
func (r *release) writeNotices(ctx context.Context, dir string, p platform) error {
	l, err := r.linkedIn(p)
	if err != nil {
		return err
	}
	var text strings.Builder
	fmt.Fprintf(&text, "The program and the plugins contain the Go library and the modules below, under these licences.\n")
	if err := appendLicences(&text, "Go "+strings.TrimPrefix(r.goVersion, "go"), r.goRoot); err != nil {
		return err
	}
	for _, m := range l.modules(r.root) {
		source, err := r.output(ctx, "go", "list", "-C", m.from, "-mod=readonly", "-m", "-f", "{{.Dir}}", m.Path)
		if err != nil {
			return err
		}
		if err := appendLicences(&text, m.Path+" "+m.Version, source); err != nil {
			return err
		}
	}
	const scripts = "internal/admin/ui/vendored"
	vendored, err := os.ReadDir(filepath.Join(r.root, scripts))
	if err != nil {
		return err
	}
	for _, project := range vendored {
		if err := appendLicences(&text, project.Name()+", scripts of the pages of bulkhead ui", filepath.Join(r.root, scripts, project.Name())); err != nil {
			return err
		}
	}
	for _, name := range r.plugins {
		if !r.isGo(name) {
			if err := appendLicences(&text, "plugin "+name, filepath.Join(r.root, "plugins", name)); err != nil {
				return err
			}
		}
	}
	return os.WriteFile(filepath.Join(dir, noticesFile), []byte(text.String()), 0o644)
}

// appendLicences appends the licence files at the top of a module. It is an error if there is none.
func appendLicences(text *strings.Builder, name, dir string) error {
	if dir == "" {
		return errors.New("the source of " + name + " is not in the module cache: run `go mod download`")
	}
	items, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	found := false
	for _, item := range items {
		if !licenceFile.MatchString(item.Name()) {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, item.Name()))
		if err != nil {
			return err
		}
		found = true
		rule := strings.Repeat("=", 80)
		fmt.Fprintf(text, "\n%s\n%s, %s\n%s\n\n%s\n", rule, name, item.Name(), rule, bytes.TrimSpace(data))
	}
	if !found {
		return fmt.Errorf("%s has no licence file in %s", name, dir)
	}
	return nil
}
