package discovery

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/internal/base/signature"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
)

// hostFiles returns the host's own files and directories: a plugin that could write them could grant itself anything and
// read the data of other plugins. They are nevertheless granted if a grant names one of them, or a path in it.
func hostFiles(f *Found) []string {
	s := f.Options.System
	// The default paths of the config are included even if no config exists there: a config that a plugin creates there would
	// be used at the next start.
	own := []string{f.CacheDir, dataDir(s), f.Places.State, stateDir(s), f.Config, s.absolute(config.FileName), configDir(s)}
	if f.Places.Project != "" {
		own = append(own, filepath.Join(f.Places.Project, config.FileName))
	}
	for _, p := range f.Projects {
		own = append(own, filepath.Join(p.Places.Project, config.FileName), p.Places.State)
	}
	if a := cmp.Or(f.declaredAudit, f.Audit); a != nil { // a file stays secret, whether the ceiling allows its use or not
		own = append(own, a.File, a.File+".key", a.Metrics.Socket(), a.Traces.HeadersFile)
		for n := range a.Keep {
			own = append(own, fmt.Sprintf("%s.%d", a.File, n+1))
		}
	}
	if f.Ceiling != nil {
		own = append(own, f.Ceiling.File)
	}
	for _, file := range f.Files {
		own = append(own, file.Path)
	}
	for _, c := range f.Sources.Catalogues {
		if filepath.IsAbs(c.From) { // what a plugin wrote would not be signed, but would keep the newest version from being found
			own = append(own, c.From, c.From+signature.Extension)
		}
	}
	for _, c := range f.Credentials {
		own = append(own, c.File)
	}
	for _, candidate := range f.Candidates {
		for _, secret := range candidate.Entry.Secrets {
			own = append(own, secret.File)
		}
	}
	for _, l := range f.Revocations {
		if l.IsLocal() {
			own = append(own, l.From, l.From+signature.Extension)
		}
	}
	own = append(own, f.HTTP.Files()...)
	own = append(own, f.Options.Private...)
	own = append(own, shadowedFiles(f)...)
	own = append(own, f.folders...)
	return slices.DeleteFunc(own, func(path string) bool { return path == "" })
}

// shadowedFiles returns the files of configs that are not in force, but would be in another directory or without an option. Only
// the configs of the user and of envConfig are considered: they need no trust record, which would detect a change.
func shadowedFiles(f *Found) []string {
	var files []string
	for source, err := range searchConfigs(f.Options, f.Places) {
		if err != nil || source == f.source || source.By != ByVariable && source.By != ByUser {
			continue
		}
		files = append(files, source.File)
		if c, _, _, _ := readConfig(f.Options, source); c != nil { // the problems of a config are reported where it is in force
			for _, file := range c.Files {
				files = append(files, file.Path)
			}
		}
	}
	return files
}
