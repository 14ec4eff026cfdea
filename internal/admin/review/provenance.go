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

// requestedAt formats the line of a request in the manifest, and the reason why that request suffices for the grant.
func (s Subject) requestedAt(line int, key string) string {
	where := manifest.FileName
	if line > 0 {
		where = fmt.Sprintf("%s:%d", where, line)
	}
	if s.Config == "" {
		return where + " asks for it, and it lies in the project"
	}
	return fmt.Sprintf("%s asks for it, and the config has no %s for the plugin (%s)", where, key, s.Entry.At(""))
}

// FolderBy returns the reason for the grant of the directory m.
func (s Subject) FolderBy(m config.Mount) string {
	if m.State {
		return "every plugin has its own state directory"
	}
	list, by := s.Entry.FS, func(f manifest.FS) string { return "fs (" + s.at(f.Line) + ")" }
	if list == nil {
		list, by = s.Manifest.Capabilities.FS, func(f manifest.FS) string { return s.requestedAt(f.Line, "fs") }
	}
	words, requested := "", manifest.Read
	for _, f := range list {
		if dir, missing := s.Places.Resolve(f.Path, s.Manifest.Name); missing == "" && dir == m.Path {
			if words == "" || f.Access == manifest.ReadWrite && requested == manifest.Read {
				words, requested = by(f), f.Access
			}
		}
	}
	why := s.cutBy("fs", m.Path)
	if words == "" { // a part of a granted directory
		return why
	}
	if why != "" {
		return words + "; reduced: " + why
	}
	return words + s.readOnlySuffix(requested, m.Access)
}

// readOnlySuffix returns the reason why write access was reduced to read access; empty if it was not reduced.
func (s Subject) readOnlySuffix(requested, granted manifest.Access) string {
	if requested != manifest.Read && granted == manifest.Read && s.Entry.ReadOnly {
		return fmt.Sprintf("; reduced to reading by read_only (%s)", s.Entry.At("read_only"))
	}
	return ""
}

// cutBy returns the reason why a ceiling reduced the part of the grant at key; empty if no ceiling did.
func (s Subject) cutBy(key, what string) string {
	for _, c := range s.Grant.Cuts {
		if c.Key == key && c.What == what {
			return c.Why
		}
	}
	return ""
}

// DenyBy returns the reason for a deny pattern: the position of the key that sets it.
func (s Subject) DenyBy(pattern string) string {
	if why := s.cutBy("deny", pattern); why != "" {
		return why
	}
	if i := slices.Index(s.Entry.Deny, pattern); i >= 0 {
		return fmt.Sprintf("deny (%s)", s.Entry.At(fmt.Sprintf("deny[%d]", i)))
	}
	if s.Entry.Deny == nil && slices.Contains(s.Manifest.Capabilities.Deny, pattern) {
		return fmt.Sprintf("%s:%d does not ask for it, and the plugin's table has no deny", manifest.FileName, s.Manifest.Capabilities.DenyLine)
	}
	return fmt.Sprintf("defaults.deny (%s)", s.defaultsAt("deny"))
}

func (s Subject) repositoryBy(g config.Git) string {
	list, by := s.Entry.Git, func(have manifest.Git) string { return "git (" + s.at(have.Line) + ")" }
	if list == nil {
		list, by = s.Manifest.Capabilities.Git, func(have manifest.Git) string {
			words := s.requestedAt(have.Line, "git")
			if have.Access != manifest.Read {
				words += fmt.Sprintf("; writing requires git with access = %q in a config", have.Access)
			}
			return words
		}
	}
	for _, have := range list {
		if dir, missing := s.Places.Resolve(have.Repo, s.Manifest.Name); missing == "" && dir == g.Repo {
			words := by(have)
			if why := s.cutBy("git", g.Repo); why != "" {
				return words + "; reduced: " + why
			}
			if s.Entry.Git != nil {
				words += s.readOnlySuffix(have.Access, g.Access)
			}
			return words
		}
	}
	return ""
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

func (s Subject) originBy(h config.HTTP) string {
	if i := config.FindHTTP(s.Entry.HTTP, h); i >= 0 {
		return fmt.Sprintf("http (%s)", s.Entry.At(fmt.Sprintf("http[%d]", i)))
	}
	return s.requestedAt(s.Manifest.Capabilities.HTTPLine, "http")
}

func (s Subject) questionBy(kind interaction.Kind) string {
	if i := slices.Index(s.Entry.Ask, kind); i >= 0 {
		return fmt.Sprintf("ask (%s)", s.Entry.At(fmt.Sprintf("ask[%d]", i)))
	}
	return s.requestedAt(s.Manifest.Capabilities.AskLine, "ask")
}

func (s Subject) variableBy(name string) string {
	if _, flag := s.FlagEnv[name]; flag {
		return "--env"
	}
	return fmt.Sprintf("env (%s)", s.Entry.At("env."+name))
}
