package discovery

import (
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/internal/base/signature"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/trust"
)

// maxWatched bounds the entries of a directory of plugins that Watched returns.
const maxWatched = 1000

// Watched returns the ceiling and the files and directories, existing or not, that decide what Find finds with these options: which
// config, or which plugins if there is no config.
func Watched(o Options, hasConfig bool) []string {
	o, places, err := located(o)
	if err != nil {
		return nil
	}
	paths := append(configPaths(o, places), o.System.ceilingPlace().file)
	if hasConfig || o.Development != nil { // the files of a build never change: package dev reloads the host after the next build
		return paths
	}
	return append(paths, folderPaths(o)...)
}

// folderPaths returns the paths that decide which plugins are in the directories that are searched, and the trust record.
func folderPaths(o Options) []string {
	if named, _ := namedFolder(o); named != "" {
		return pluginPaths(o.System.absolute(named))
	}
	beside, here := usualFolders(o.System)
	return slices.Concat([]string{records(o.System).File(here)}, pluginPaths(beside), pluginPaths(here))
}

func records(s System) trust.Store { return trust.In(stateDir(s)) }

// configPaths returns the paths of the configs that may be in force, and of their trust records.
func configPaths(o Options, places config.Places) []string {
	named := o.System.getenv(envConfig)
	switch {
	case o.NoConfig:
		return nil
	case o.ConfigFile != "":
		return []string{o.System.absolute(o.ConfigFile)}
	case named != "":
		return []string{named}
	}
	var paths []string
	for _, dir := range []string{o.System.Dir, places.Project} {
		if dir != "" {
			file := filepath.Join(dir, config.FileName)
			paths = append(paths, file, records(o.System).File(file))
		}
	}
	if dir := configDir(o.System); dir != "" {
		paths = append(paths, filepath.Join(dir, config.FileName))
	}
	return paths
}

// Watched returns the files and directories, existing or not, from which f was read.
func (f *Found) Watched() []string {
	var paths []string
	for _, file := range f.Files {
		paths = append(paths, file.Path)
	}
	if f.Options.Development == nil && slices.ContainsFunc(f.Candidates, func(c Candidate) bool { return c.Entry.Name != "" }) {
		paths = append(paths, folderPaths(f.Options)...)
	}
	for _, l := range f.Revocations {
		paths = append(paths, revocationsIn(f.Options.System).Path)
		if l.IsLocal() {
			paths = append(paths, l.From, l.From+signature.Extension)
		}
	}
	switch {
	case f.Untrusted != nil:
		paths = append(paths, f.Untrusted.Included)
	case f.Invalid != nil:
		paths = append(paths, f.Invalid.Included...)
	}
	if f.Options.Development != nil {
		return paths
	}
	for _, c := range f.Candidates {
		paths = append(paths, filepath.Join(c.Entry.Path, manifest.FileName))
		if c.Manifest != nil && c.Manifest.Module.File != "" {
			paths = append(paths, c.Manifest.ModuleFile())
		}
	}
	return paths
}

// pluginPaths returns the paths that decide which plugins a directory contains.
func pluginPaths(dir string) []string {
	paths := []string{dir, filepath.Join(dir, manifest.FileName)}
	f, err := os.Open(dir)
	if err != nil {
		return paths
	}
	defer f.Close()
	names, _ := f.Readdirnames(maxWatched)
	for _, name := range names {
		if name[0] != '.' {
			paths = append(paths, filepath.Join(dir, name, manifest.FileName))
		}
	}
	return paths
}

// WatchedAfter returns files, existing or not, that may have to change before Find succeeds, besides those that the function Watched
// returns. err is the error of Find.
func WatchedAfter(err error) []string {
	if invalid := (*InvalidError)(nil); errors.As(err, &invalid) {
		return invalid.Included
	}
	if missing := (*noScriptError)(nil); errors.As(err, &missing) {
		return missing.watched
	}
	return nil
}
