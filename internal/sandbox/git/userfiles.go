package git

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/gitconfig"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/worktree/ignore"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

const (
	maxIncludeDepth = 10      // most levels of nested includes, as in git
	maxUserFiles    = 100     // most files of the user's configuration
	maxUserBytes    = 4 << 20 // most bytes of these files and of those that they name, together
)

// UserFiles states where the user's and the system's configuration is.
type UserFiles struct {
	Home string
	XDG  string // value of XDG_CONFIG_HOME; if it is empty, .config in Home
	// System are the paths of files that could be the system's configuration: which one is, depends on how git was built.
	System []string
}

// SystemFiles returns the paths at which git's usual packages for this system have the system's configuration.
func SystemFiles() []string {
	switch runtime.GOOS {
	case "windows":
		return []string{`C:\ProgramData\Git\config`, `C:\Program Files\Git\etc\gitconfig`, `C:\Program Files (x86)\Git\etc\gitconfig`}
	case "darwin":
		return []string{"/Library/Developer/CommandLineTools/usr/share/git-core/gitconfig",
			"/Applications/Xcode.app/Contents/Developer/usr/share/git-core/gitconfig",
			"/etc/gitconfig", "/usr/local/etc/gitconfig", "/opt/local/etc/gitconfig", "/opt/homebrew/etc/gitconfig"}
	}
	return []string{"/etc/gitconfig", "/usr/local/etc/gitconfig", "/home/linuxbrew/.linuxbrew/etc/gitconfig"}
}

// Read reads the configuration as git does: the system's files, $XDG_CONFIG_HOME/git/config and then ~/.gitconfig, with the files that they
// include, the ignore file, which by default is $XDG_CONFIG_HOME/git/ignore, and the files of attributes. An absent file counts as
// empty. If a file cannot be read, the error names that file; what was read is returned nevertheless, and its Settings say so. Read opens
// files by path, so it is for the host process.
func (f UserFiles) Read() (UserConfig, error) {
	if f.XDG == "" {
		f.XDG = filepath.Join(f.Home, ".config")
	}
	r := userReader{home: f.Home}
	for _, name := range f.System {
		if data := r.content(filepath.Join(filepath.Dir(name), "gitattributes"), nil); data != nil {
			r.add(nil, func(u *User) { u.SystemAttributes = append(append(u.SystemAttributes, data...), '\n') })
		}
	}
	excludes, attributes := r.content(filepath.Join(f.XDG, "git", "ignore"), nil), r.content(filepath.Join(f.XDG, "git", "attributes"), nil)
	r.add(nil, func(u *User) { u.Excludes, u.Attributes = excludes, attributes })
	for _, name := range append(slices.Clone(f.System), filepath.Join(f.XDG, "git", "config"), filepath.Join(f.Home, ".gitconfig")) {
		r.file(name, nil, 0)
	}
	return slices.DeleteFunc(r.layers, func(l Layer) bool { return l.isEmpty() }), errors.Join(r.errs...)
}

func (u *User) isEmpty() bool {
	return u.Identity == Identity{} && u.Excludes == nil && u.Attributes == nil && u.SystemAttributes == nil && len(u.Settings) == 0
}

// userReader reads the files of a UserConfig. They are trusted, so symbolic links are followed.
type userReader struct {
	home   string
	layers UserConfig
	files  int
	bytes  int
	errs   []error
}

// add calls set with a layer that has the conditions when: the last one, or a new one.
func (r *userReader) add(when []Condition, set func(*User)) {
	if n := len(r.layers); n == 0 || !slices.Equal(r.layers[n-1].When, when) {
		r.layers = append(r.layers, Layer{When: when})
	}
	set(&r.layers[len(r.layers)-1].User)
}

// fail records that a file cannot be read. Nothing may be committed where it takes effect.
func (r *userReader) fail(name string, when []Condition, err error) {
	r.errs = append(r.errs, fmt.Errorf("%s: %w", name, err))
	r.add(when, func(u *User) { u.Settings.set(settingUnreadable, err.Error(), name) })
}

func (r *userReader) file(name string, when []Condition, depth int) {
	data, err := r.read(name, gitconfig.MaxSize)
	config, bad := gitconfig.Parse(data)
	if err = errors.Join(err, bad); err != nil {
		r.fail(name, when, err)
		return
	}
	for _, e := range config {
		switch {
		case (e.Section == "include" || e.Section == "includeif") && e.Key == "path":
			r.include(name, e, when, depth)
		case e.Section == "core" && e.Subsection == "" && (e.Key == "excludesfile" || e.Key == "attributesfile"):
			// A relative path would be one of the working directory, which is the project in many cases.
			content := []byte{}
			if file, ok := r.expand(e.Value); ok && filepath.IsAbs(file) {
				content = append(content, r.content(file, when)...)
			}
			r.add(when, func(u *User) {
				if e.Key == "excludesfile" {
					u.Excludes = content
				} else {
					u.Attributes = content
				}
			})
		default:
			r.add(when, func(u *User) {
				u.Identity.override(gitconfig.File{e})
				u.Settings.override(gitconfig.File{e}, name)
			})
		}
	}
}

// include reads a file that the file name includes.
func (r *userReader) include(name string, e gitconfig.Entry, when []Condition, depth int) {
	if e.Section == "includeif" {
		condition, known := r.condition(name, e.Subsection)
		if !known {
			r.add(when, func(u *User) { u.Settings.set(settingIncludes, "includeIf."+e.Subsection, name) })
			return
		}
		when = append(slices.Clone(when), condition)
	}
	file, ok := r.expand(e.Value)
	if !ok || e.NoValue {
		r.fail(name, when, fmt.Errorf("include.path = %q is not supported: give a path without a user's name and without variables", e.Value))
		return
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(filepath.Dir(name), file)
	}
	if depth++; depth > maxIncludeDepth {
		r.fail(name, when, fmt.Errorf("include.path = %q: nested deeper than %d levels", e.Value, maxIncludeDepth))
		return
	}
	r.file(file, when, depth)
}

// condition parses the condition of an includeIf in the file name. The bool is false for a condition that is not supported.
func (r *userReader) condition(name, text string) (Condition, bool) {
	kind, pattern, _ := strings.Cut(text, ":")
	c := Condition{Branch: kind == "onbranch", Fold: kind == "gitdir/i"}
	switch kind {
	case "onbranch":
	case "gitdir", "gitdir/i":
		pattern = filepath.ToSlash(pattern)
		if below, ok := strings.CutPrefix(pattern, "./"); ok {
			pattern = quotePattern(filepath.ToSlash(filepath.Dir(resolved(name)))) + "/" + below
		} else if below, ok := strings.CutPrefix(pattern, "~/"); ok {
			pattern = quotePattern(filepath.ToSlash(resolved(r.home))) + "/" + below
		} else if strings.HasPrefix(pattern, "~") {
			return c, false
		} else if !filepath.IsAbs(filepath.FromSlash(pattern)) {
			pattern = "**/" + pattern
		}
	default:
		return c, false
	}
	if strings.HasSuffix(pattern, "/") {
		pattern += "**"
	}
	c.Pattern = pattern
	return c, true
}

// resolved returns a path with its symbolic links resolved, if that is possible.
func resolved(name string) string {
	if real, err := filepath.EvalSymlinks(name); err == nil {
		return real
	}
	return name
}

// quotePattern returns a pattern that matches text only.
func quotePattern(text string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(text)
}

// expand expands the home directory at the start of a path. The bool is false if the path starts with something else that git expands.
func (r *userReader) expand(name string) (string, bool) {
	if below, ok := strings.CutPrefix(name, "~/"); ok {
		return filepath.Join(r.home, below), true
	}
	return name, !strings.HasPrefix(name, "~") && !strings.HasPrefix(name, "%(prefix)")
}

// content returns the content of a file that the configuration names; nil if it is absent or cannot be read.
func (r *userReader) content(name string, when []Condition) []byte {
	data, err := r.read(name, ignore.MaxFile)
	if err != nil {
		r.fail(name, when, err)
	}
	return data
}

// read reads a file. If it is absent, there is no content.
func (r *userReader) read(name string, limit int64) ([]byte, error) {
	data, err := filesystem.ReadFile(filesystem.OS{}, name, limit)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case errors.Is(err, filesystem.ErrNotRegular): // such as /dev/null, by which users disable a setting that names a file
		return nil, nil
	case errors.Is(err, filesystem.ErrTooLarge):
		return nil, fmt.Errorf("the file is larger than %d bytes", limit)
	case err != nil:
		return nil, errors.Unwrap(err)
	}
	r.files++
	if r.bytes += len(data); r.bytes > maxUserBytes || r.files > maxUserFiles {
		return nil, fmt.Errorf("the configuration has more than %d files or %d bytes", maxUserFiles, maxUserBytes)
	}
	return data, nil
}
