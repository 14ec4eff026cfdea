package git

import (
	"fmt"
	"path"
	"runtime"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/gitconfig"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/internal/hosterror"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/repo"
)

// Settings are the last values of the settings because of which git would run a program or write something else, by their names in lower
// case. Operations that change a repository refuse what they cannot do: leaving out a hook in silence would defeat scanners for secrets.
type Settings map[string]Setting

// Setting is the value of a setting and the file that sets it.
type Setting struct{ Value, File string }

// Names of settings. Those with a question mark are no settings of git: a file includes others, or cannot be read.
const (
	settingHooks      = "core.hookspath"
	settingSign       = "commit.gpgsign"
	settingEncoding   = "i18n.commitencoding"
	settingShared     = "core.sharedrepository"
	settingAutoCRLF   = "core.autocrlf"
	settingSparse     = "core.sparsecheckout"
	settingHook       = "hook.event=" // and the name of a hook: since 2.54, git also runs the command of the section of hook that the value names
	settingIncludes   = "?include"
	settingUnreadable = "?unreadable"
)

// override takes the settings of a file over those of files with lower precedence.
func (s *Settings) override(config gitconfig.File, file string) {
	for _, e := range config {
		key, value := e.Section+"."+e.Key, e.Value
		switch {
		case (e.Section == "include" || e.Section == "includeif") && e.Key == "path":
			key, value = settingIncludes, e.Section+"."+strings.TrimPrefix(e.Subsection+".", ".")+e.Key
		case e.Section == "hook" && e.Key == "event":
			key, value = settingHook+e.Value, e.Subsection
		case e.Subsection != "" || !slices.Contains([]string{settingHooks, settingSign, settingEncoding, settingShared, settingAutoCRLF, settingSparse}, key):
			continue
		case e.NoValue:
			value = "true"
		}
		s.set(key, value, file)
	}
}

func (s *Settings) set(key, value, file string) {
	if *s == nil {
		*s = Settings{}
	}
	(*s)[key] = Setting{value, file}
}

// settings returns the effective settings of a repository.
func (u User) settings(r *repo.Repository) (Settings, error) {
	all := Settings{}
	for key, setting := range u.Settings {
		all.set(key, setting.Value, setting.File)
	}
	config, err := r.CheckedConfig()
	if err != nil {
		return nil, err
	}
	all.override(config, r.Root.Abs(r.InCommon("config")))
	if isOn(last(config, "extensions", "worktreeconfig")) {
		name := path.Join(r.GitDir, "config.worktree")
		data, err := r.Root.Read(name, gitconfig.MaxSize)
		if err != nil && !repo.IsAbsent(err) {
			return nil, err
		}
		own, err := gitconfig.Parse(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.Root.Abs(name), err)
		}
		all.override(own, r.Root.Abs(name))
	}
	return all, nil
}

func last(config gitconfig.File, section, key string) string {
	for i := len(config) - 1; i >= 0; i-- {
		if e := config[i]; e.Section == section && e.Subsection == "" && e.Key == key {
			if e.NoValue {
				return "true"
			}
			return e.Value
		}
	}
	return ""
}

// isOn reports whether a value is not one by which git turns a setting off. Values that git does not accept count as on.
func isOn(value string) bool {
	return !slices.Contains([]string{"", "false", "no", "off", "0"}, strings.ToLower(value))
}

// checkShared refuses a repository whose files git would give other permissions than those of the umask.
func checkShared(all Settings) error {
	s := all[settingShared]
	if !isOn(s.Value) || strings.EqualFold(s.Value, "umask") {
		return nil
	}
	return fmt.Errorf("core.sharedRepository is %q in %s: git would give new files and directories permissions for others, which is not supported: "+
		"run git yourself, or unset it", hosterror.Truncate(s.Value), s.File)
}

// checkHooks refuses an operation if git would run one of these hooks, or if that cannot be known.
func checkHooks(r *repo.Repository, all Settings, hooks ...string) error {
	for _, key := range []string{settingUnreadable, settingIncludes, settingHooks} {
		s, found := all[key]
		switch {
		case !found:
		case key == settingUnreadable:
			return fmt.Errorf("%s cannot be read, and could say that git runs hooks or converts files: %s", s.File, s.Value)
		case key == settingIncludes:
			return fmt.Errorf("%s includes other files (%s), which are not read here and could name hooks that git would run: "+
				"run git yourself, or move what is included into that file", s.File, hosterror.Truncate(s.Value))
		default:
			return fmt.Errorf("core.hooksPath is %q in %s: git would run the hooks there, which this plugin may not: run git yourself, or unset it",
				hosterror.Truncate(s.Value), s.File)
		}
	}
	for _, hook := range hooks {
		if s, found := all[settingHook+hook]; found {
			return fmt.Errorf("hook.%s.event is %s in %s: git would run the command there, which this plugin may not: run git yourself, or unset it",
				hosterror.Truncate(s.Value), hook, s.File)
		}
		name := path.Join(r.InCommon("hooks"), hook)
		info, err := r.Root.Handle.Lstat(name)
		if repo.IsAbsent(err) {
			continue
		}
		if err == nil && !info.IsLink() && info.Mode&0o111 == 0 && runtime.GOOS != "windows" {
			continue // git ignores a hook that is not executable
		}
		return fmt.Errorf("the hook %s is active: git would run it, which this plugin may not: run git yourself, or remove that file", r.Root.Abs(name))
	}
	return nil
}

// checkCommit refuses a commit that git would write in another form, or after running a program.
func checkCommit(r *repo.Repository, all Settings) error {
	err := checkHooks(r, all, "pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "reference-transaction")
	if err != nil {
		return err
	}
	if s := all[settingSign]; isOn(s.Value) {
		return fmt.Errorf("commit.gpgSign is set in %s: git would sign the commit, which this plugin cannot: run git yourself, or unset it", s.File)
	}
	if s := all[settingEncoding]; s.Value != "" && !strings.EqualFold(s.Value, "utf-8") {
		return fmt.Errorf("i18n.commitEncoding is %q in %s: only UTF-8 is supported: run git yourself, or unset it", hosterror.Truncate(s.Value), s.File)
	}
	return nil
}
