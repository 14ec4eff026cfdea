package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/userfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/interaction"
)

// pluginsArray is the name of the array of tables that this file edits.
const pluginsArray = "plugins"

// AddPlugin returns the config whose content has p as a further [[plugins]] table, and every other byte of c's. The table
// contains the fields that p sets, with references unexpanded. AddPlugin fails if Parse would reject the result.
func (c *Config) AddPlugin(p Plugin) (*Config, error) {
	body := tableOf(p)
	next, err := c.edit(c.doc.AppendTable(pluginsArray, body))
	if err != nil {
		return nil, err
	}
	read := next.Plugins[next.Own()-1]
	if read.Path = p.Path; tableOf(read) != body {
		return nil, fmt.Errorf("%s: the table of the new plugin would change when it is read back: add it by hand", c.doc.File())
	}
	return next, nil
}

// AddAudit adds an [audit] table to the content of a config without that table, and preserves every other byte. logFile is the
// value of the key file, with references unexpanded.
func (c *Config) AddAudit(logFile string) (*Config, error) {
	return c.edit(c.doc.SetString("audit", "file", logFile))
}

// edit reads the edited content of c. err is the error of the edit.
func (c *Config) edit(edited *tomlfile.Doc, err error) (*Config, error) {
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.doc.File(), err)
	}
	next := &Config{File: c.File, doc: edited, read: c.read}
	return next, next.readDoc(edited.File()).Err()
}

// Table returns the [[plugins]] table of p as AddPlugin writes it.
func Table(p Plugin) string { return "[[" + pluginsArray + "]]\n" + tableOf(p) }

// RemovePlugin returns the content of c without the [[plugins]] table of Plugins[index], its sub-tables and
// the comments directly above its headings and between its keys. It preserves every other byte.
func (c *Config) RemovePlugin(index int) ([]byte, error) {
	edited, err := c.doc.RemoveTable(pluginsArray, index)
	if err != nil {
		return nil, err
	}
	return edited.Bytes(), nil
}

// PinPlugin sets sha256 of Plugins[index], and from, version and signer if p has them, in the content of c and preserves every other byte.
func (c *Config) PinPlugin(index int, p Plugin) (*Config, error) {
	if !userfile.IsDigest(p.SHA256) {
		return nil, errors.New("is not a SHA-256 in lower-case hex")
	}
	edited := c.doc
	for _, key := range []struct{ name, value string }{{"from", p.From}, {"version", p.Version}, {"sha256", p.SHA256}, {"signer", p.Signer.String()}} {
		if key.value == "" {
			continue
		}
		var err error
		if edited, err = edited.SetTableString(pluginsArray, index, key.name, key.value); err != nil {
			return nil, err
		}
	}
	return c.edit(edited, nil)
}

// lines are lines of TOML.
type lines struct{ strings.Builder }

// set adds a key, if it is set.
func (b *lines) set(key, value string, isSet bool) {
	if isSet {
		b.WriteString(key + " = " + value + "\n")
	}
}

// tableOf formats the set fields of p as TOML keys and values.
func tableOf(p Plugin) string {
	var b lines
	set := b.set
	set("path", tomlfile.Text(p.Path), p.Name == "" && p.From == "")
	set("name", tomlfile.Text(p.Name), p.Name != "")
	set("from", tomlfile.Text(p.From), p.From != "")
	set("version", tomlfile.Text(p.Version), p.Version != "")
	set("sha256", tomlfile.Text(p.SHA256), p.SHA256 != "")
	set("signer", tomlfile.Text(p.Signer.String()), !p.Signer.IsZero())
	return b.String() + Settings(p)
}

// Settings formats the set fields of p that decide what is granted, as AddPlugin writes them: all but those that say which plugin it is.
func Settings(p Plugin) string {
	var b lines
	set := b.set
	texts := func(key string, list []string) { set(key, array(list, tomlfile.Text), list != nil) }
	set("prefix", tomlfile.Text(p.Prefix), p.Prefix != "")
	texts("allow_tools", p.AllowTools)
	texts("deny_tools", p.DenyTools)
	texts("allow_prompts", p.Prompts.Allow)
	texts("deny_prompts", p.Prompts.Deny)
	texts("allow_resources", p.Resources.Allow)
	texts("deny_resources", p.Resources.Deny)
	set("read_only", "true", p.ReadOnly)
	set("allow_write", "true", p.AllowWrite)
	set(keyApproveWrites, "true", p.Approve.Writes)
	texts(keyApproveTools, p.Approve.Tools)
	set("always_offer", "true", p.Always)
	set("fs", array(p.FS, directoryText), p.FS != nil)
	texts("deny", p.Deny)
	set("http", array(p.HTTP, originText), p.HTTP != nil)
	set("git", array(p.Git, repositoryText), p.Git != nil)
	set("env", inline(slices.Sorted(keysOf(p.Env, p.Secrets)), func(name string) string {
		if secret, ok := p.Secrets[name]; ok {
			return tomlfile.Key(name) + " = " + secretText(secret)
		}
		return tomlfile.Key(name) + " = " + tomlfile.Text(p.Env[name])
	}), p.Env != nil || p.Secrets != nil)
	set("ask", array(p.Ask, func(kind interaction.Kind) string { return tomlfile.Text(string(kind)) }), p.Ask != nil)
	limits := limitTexts(p.Limits)
	set("limits", inline(limits, func(s string) string { return s }), len(limits) > 0)
	set("isolation", tomlfile.Text(p.Isolation), p.Isolation == IsolationReused)
	set("tools", tomlfile.Text(toolsListed), p.Listed)
	return b.String()
}

func directoryText(f manifest.FS) string {
	return fmt.Sprintf("{ path = %s, access = %s }", tomlfile.Text(cmp.Or(f.Written, f.Path)), tomlfile.Text(string(f.Access)))
}

func originText(h HTTP) string {
	text := tomlfile.Text(h.String())
	if !h.Private && h.Credential == nil {
		return text
	}
	text = "{ origin = " + text
	if h.Private {
		text += ", private = true"
	}
	if h.Credential != nil {
		text += ", credential = " + tomlfile.Text(h.Credential.Name)
	}
	return text + " }"
}

func repositoryText(g manifest.Git) string {
	text := fmt.Sprintf("{ repo = %s, access = %s", tomlfile.Text(cmp.Or(g.Written, g.Repo)), tomlfile.Text(string(g.Access)))
	if len(g.Remotes) > 0 {
		// An inline table must not span lines.
		text += ", remotes = [" + strings.Join(textsOf(g.Remotes, tomlfile.Text), ", ") + "]"
	}
	return text + " }"
}

func limitTexts(l manifest.Limits) []string {
	var out []string
	for _, limit := range l.List() {
		if limit.Value > 0 {
			out = append(out, limit.Key+" = "+limit.TOML())
		}
	}
	return out
}

// maxLine is the length in bytes up to which an array is written on one line.
const maxLine = 100

func array[T any](list []T, text func(T) string) string {
	items := textsOf(list, text)
	line := "[" + strings.Join(items, ", ") + "]"
	if len(items) < 2 || len(line) <= maxLine {
		return line
	}
	return "[\n    " + strings.Join(items, ",\n    ") + ",\n]"
}

func inline[T any](list []T, text func(T) string) string {
	if len(list) == 0 {
		return "{}"
	}
	return "{ " + strings.Join(textsOf(list, text), ", ") + " }"
}

func textsOf[T any](list []T, text func(T) string) []string {
	out := make([]string, len(list))
	for i, item := range list {
		out[i] = text(item)
	}
	return out
}
