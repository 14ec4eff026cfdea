package review

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/host/config"
	"github.com/bulkhead-mcp/bulkhead/host/manifest"
)

// at names a line of the config.
func (s Subject) at(line int) string { return fmt.Sprintf("%s:%d", path.Base(s.Config), line) }

// asks names a line of the manifest that asks for something, and why that is enough.
func (s Subject) asks(line int, key string) string {
	where := manifest.FileName
	if line > 0 {
		where = fmt.Sprintf("%s:%d", where, line)
	}
	if s.Config == "" {
		return where + " asks for it, and it lies in the project"
	}
	return fmt.Sprintf("%s asks for it, and the config has no %s for the plugin (%s)", where, key, s.Entry.At(""))
}

// FolderBy says what decided on a granted folder.
func (s Subject) FolderBy(m config.Mount) string {
	if m.State {
		return "every plugin has its own state folder"
	}
	list, by := s.Entry.FS, func(f manifest.FS) string { return "fs (" + s.at(f.Line) + ")" }
	if list == nil {
		list, by = s.Manifest.Capabilities.FS, func(f manifest.FS) string { return s.asks(f.Line, "fs") }
	}
	words, asked := "", manifest.Read
	for _, f := range list {
		if dir, missing := s.Places.Resolve(f.Path, s.Manifest.Name); missing == "" && dir == m.Path {
			if words == "" || f.Access == manifest.ReadWrite && asked == manifest.Read {
				words, asked = by(f), f.Access
			}
		}
	}
	return words + s.cut(asked, m.Access)
}

// cut says what left only reading of what could be written.
func (s Subject) cut(asked, given manifest.Access) string {
	if asked == manifest.ReadWrite && given == manifest.Read && s.Entry.ReadOnly {
		return fmt.Sprintf("; only to read by read_only (%s)", s.Entry.At("read_only"))
	}
	return ""
}

// DenyBy says where a pattern of hidden files stands.
func (s Subject) DenyBy(pattern string) string {
	if i := slices.Index(s.Entry.Deny, pattern); i >= 0 {
		return fmt.Sprintf("deny (%s)", s.Entry.At(fmt.Sprintf("deny[%d]", i)))
	}
	return fmt.Sprintf("defaults.deny (%s)", path.Base(s.Config))
}

func (s Subject) repositoryBy(g config.Git) string {
	list, by := s.Entry.Git, func(have manifest.Git) string { return "git (" + s.at(have.Line) + ")" }
	if list == nil {
		list, by = s.Manifest.Capabilities.Git, func(have manifest.Git) string {
			words := s.asks(have.Line, "git")
			if have.Access == manifest.ReadWrite {
				words += "; to write it takes git with access = \"rw\" in a config"
			}
			return words
		}
	}
	for _, have := range list {
		if dir, missing := s.Places.Resolve(have.Repo, s.Manifest.Name); missing == "" && dir == g.Repo {
			words := by(have)
			if s.Entry.Git != nil {
				words += s.cut(have.Access, g.Access)
			}
			return words
		}
	}
	return ""
}

func originMore(h config.HTTP) string {
	var more []string
	if h.Private {
		more = append(more, "private")
	}
	if h.Credential != nil {
		more = append(more, "with the credential "+h.Credential.Name)
	}
	return strings.Join(more, ", ")
}

func (s Subject) originBy(h config.HTTP) string {
	for i, have := range s.Entry.HTTP {
		if have.Origin == h.Origin {
			return fmt.Sprintf("http (%s)", s.Entry.At(fmt.Sprintf("http[%d]", i)))
		}
	}
	return s.asks(s.Manifest.Capabilities.HTTPLine, "http")
}

func (s Subject) variableBy(name string) string {
	if _, flag := s.FlagEnv[name]; flag {
		return "--env"
	}
	return fmt.Sprintf("env (%s)", s.Entry.At("env."+name))
}
