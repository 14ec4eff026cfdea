package review

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/interaction"
)

// at formats the position of a line in the file that has the plugin's table.
func (s Subject) at(line int) string { return fmt.Sprintf("%s:%d", path.Base(s.Entry.File), line) }

// defaultsAt formats the name of the file that sets a key of [defaults].
func (s Subject) defaultsAt(key string) string {
	if file, included := s.Defaults.Files[key]; included {
		return path.Base(file)
	}
	return path.Base(s.Config)
}

// positions returns the positions that are in a file.
func positions(all ...config.Position) []config.Position {
	return slices.DeleteFunc(all, func(p config.Position) bool { return p.File == "" })
}

// inManifest returns the position of a line of the manifest.
func (s Subject) inManifest(line int) config.Position {
	return config.Position{File: s.Manifest.File, Line: line}
}

// inEntry returns the position of a line of the file that has the plugin's table.
func (s Subject) inEntry(line int) config.Position {
	return config.Position{File: s.Entry.File, Line: line}
}

// requestedAt formats the line of a request in the manifest, and the reason why that request suffices for the grant.
func (s Subject) requestedAt(line int, key string) Reason {
	where := manifest.FileName
	if line > 0 {
		where = fmt.Sprintf("%s:%d", where, line)
	}
	if s.Config == "" {
		return Reason{where + " asks for it, and it lies in the project", positions(s.inManifest(line))}
	}
	words := fmt.Sprintf("%s asks for it, and the config has no %s for the plugin (%s)", where, key, s.Entry.At(""))
	return Reason{words, positions(s.Entry.Position(""), s.inManifest(line))}
}

// and returns r with more words and positions.
func (r Reason) and(words string, at ...config.Position) Reason {
	return Reason{r.By + words, slices.Concat(r.At, positions(at...))}
}

// FolderBy returns the reason for the grant of the directory m.
func (s Subject) FolderBy(m config.Mount) Reason {
	if m.State {
		return Reason{By: "every plugin has its own state directory"}
	}
	list, by := s.Entry.FS, func(f manifest.FS) Reason { return Reason{"fs (" + s.at(f.Line) + ")", positions(s.inEntry(f.Line))} }
	if list == nil {
		list, by = s.Manifest.Capabilities.FS, func(f manifest.FS) Reason { return s.requestedAt(f.Line, "fs") }
	}
	reason, requested := Reason{}, manifest.Read
	for _, f := range list {
		if dir, missing := s.Places.Resolve(f.Path, s.Manifest.Name); missing == "" && dir == m.Path {
			if reason.By == "" || f.Access == manifest.ReadWrite && requested == manifest.Read {
				reason, requested = by(f), f.Access
			}
		}
	}
	why := s.cutBy("fs", m.Path)
	if reason.By == "" { // a part of a granted directory
		return why
	}
	if why.By != "" {
		return reason.and("; reduced: "+why.By, why.At...)
	}
	return s.readOnly(reason, requested, m.Access)
}

// readOnly adds to a reason why write access was reduced to read access, if it was.
func (s Subject) readOnly(r Reason, requested, granted manifest.Access) Reason {
	if requested != manifest.Read && granted == manifest.Read && s.Entry.ReadOnly {
		return r.and(fmt.Sprintf("; reduced to reading by read_only (%s)", s.Entry.At("read_only")), s.Entry.Position("read_only"))
	}
	return r
}

// cutBy returns the reason why a ceiling reduced the part of the grant at key; empty if no ceiling did.
func (s Subject) cutBy(key, what string) Reason {
	for _, c := range s.Grant.Cuts {
		if c.Key == key && c.What == what {
			return Reason{c.Why, positions(c.At)}
		}
	}
	return Reason{}
}

// DenyBy returns the reason for a deny pattern: the position of the key that sets it.
func (s Subject) DenyBy(pattern string) Reason {
	if why := s.cutBy("deny", pattern); why.By != "" {
		return why
	}
	if i := slices.Index(s.Entry.Deny, pattern); i >= 0 {
		return s.entryBy("deny", fmt.Sprintf("deny[%d]", i))
	}
	if s.Entry.Deny == nil && slices.Contains(s.Manifest.Capabilities.Deny, pattern) {
		line := s.Manifest.Capabilities.DenyLine
		return Reason{fmt.Sprintf("deny (%s:%d), since the plugin's table has no deny", manifest.FileName, line), positions(s.inManifest(line))}
	}
	return Reason{By: fmt.Sprintf("defaults.deny (%s)", s.defaultsAt("deny"))}
}

// entryBy returns the reason that a key of the plugin's table is. item is the key, or an item of it.
func (s Subject) entryBy(key, item string) Reason {
	return Reason{fmt.Sprintf("%s (%s)", key, s.Entry.At(item)), positions(s.Entry.Position(item))}
}

func (s Subject) repositoryBy(g config.Git) Reason {
	list, by := s.Entry.Git, func(have manifest.Git) Reason {
		return Reason{"git (" + s.at(have.Line) + ")", positions(s.inEntry(have.Line))}
	}
	if list == nil {
		list, by = s.Manifest.Capabilities.Git, func(have manifest.Git) Reason {
			reason := s.requestedAt(have.Line, "git")
			if have.Access != manifest.Read {
				reason.By += fmt.Sprintf("; writing requires git with access = %q in a config", have.Access)
			}
			return reason
		}
	}
	for _, have := range list {
		if dir, missing := s.Places.Resolve(have.Repo, s.Manifest.Name); missing == "" && dir == g.Repo {
			reason := by(have)
			if why := s.cutBy("git", g.Repo); why.By != "" {
				return reason.and("; reduced: "+why.By, why.At...)
			}
			if s.Entry.Git != nil {
				reason = s.readOnly(reason, have.Access, g.Access)
			}
			return reason
		}
	}
	return Reason{}
}

func originMore(h config.HTTP) string {
	var more []string
	if h.PublicWeb {
		more = append(more, config.PublicWebWords)
	}
	if h.Private {
		more = append(more, "private")
	}
	if h.Credential != nil {
		more = append(more, "with the credential "+h.Credential.Name)
		if h.Credential.Command != nil {
			more = append(more, config.Secret{Command: h.Credential.Command}.String())
		}
	}
	return strings.Join(more, ", ")
}

func (s Subject) originBy(h config.HTTP) Reason {
	if i := config.FindHTTP(s.Entry.HTTP, h); i >= 0 {
		return s.entryBy("http", fmt.Sprintf("http[%d]", i))
	}
	return s.requestedAt(s.Manifest.Capabilities.HTTPLine, "http")
}

func (s Subject) questionBy(kind interaction.Kind) Reason {
	if i := slices.Index(s.Entry.Ask, kind); i >= 0 {
		return s.entryBy("ask", fmt.Sprintf("ask[%d]", i))
	}
	return s.requestedAt(s.Manifest.Capabilities.AskLine, "ask")
}

func (s Subject) variableBy(name string) Reason {
	if _, flag := s.FlagEnv[name]; flag {
		return Reason{By: "--env"}
	}
	return s.entryBy("env", "env."+name)
}
