package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/httpheader"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

const defaultHeader = "Authorization"

const alphanumeric = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

func isCredentialName(s string) bool {
	return s != "" && len(s) <= 64 && strings.Trim(s, alphanumeric+"_-") == ""
}

// isValuePrefix reports whether s consists of at most 128 printable ASCII characters, so that a header's value can begin with s.
func isValuePrefix(s string) bool {
	return len(s) <= 128 && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
}

func checkHeader(name string) error {
	switch {
	case !httpheader.IsName(name):
		return errors.New("is not a header name")
	case httpheader.IsOfConnection(name):
		return errors.New("is a header of the connection, which cannot be set")
	}
	return nil
}

func (c *Config) readCredentials(t *tomlfile.Table) {
	for _, name := range t.Keys() {
		if !isCredentialName(name) {
			t.Fault(name, "is not a credential name", "use 1 to 64 of letters, digits, _ and -")
		}
		c.Credentials = append(c.Credentials, c.readCredential(t.Table(name), name))
	}
}

func (c *Config) readCredential(t *tomlfile.Table, name string) *Credential {
	out := &Credential{Name: name, Header: defaultHeader, Prefix: t.String("prefix"), Env: t.String("env"), File: t.String("file"), Command: readCommand(t),
		Source: t.File(), Line: t.Line()}
	if t.Has("header") {
		out.Header = t.String("header")
	}
	if err := checkHeader(out.Header); err != nil {
		t.Fault("header", fmt.Sprintf("%s %v", tomlfile.Quote(out.Header), err), `write header = "Authorization", or leave it out`)
	}
	if !isValuePrefix(out.Prefix) {
		t.Fault("prefix", "is not at most 128 printable ASCII characters", `write the part of the header before the secret: "Bearer "`)
	}
	given := slices.DeleteFunc([]string{"env", "file", "command"}, func(key string) bool { return !t.Has(key) })
	switch {
	case len(given) > 1:
		t.Fault(given[1], "conflicts with "+given[0], "keep one of the two")
	case t.Present() && len(given) == 0:
		t.Fault("env", "is missing", `write env = "NAME", a variable of the host's environment, file = "/…" or command = ["pass", "show", "…"]`)
	case t.Has("env") && !manifest.IsVariable(out.Env):
		t.Fault("env", "is not a variable name",
			"write only the name: the secret itself does not belong in this file")
	case t.Has("file") && out.File == "":
		t.Fault("file", "is empty", absoluteRemedy)
	}
	c.readFile(t, "file", credentialFile(name), &out.File)
	return out
}

// credentialFile returns the full key of the file of the credential called name.
func credentialFile(name string) string { return "credentials." + tomlfile.Key(name) + ".file" }

func (c *Config) credential(name string) *Credential {
	for _, have := range c.Credentials {
		if have.Name == name {
			return have
		}
	}
	return nil
}

// warnUnused warns about credentials that no plugin uses. t is the [credentials] table.
func (c *Config) warnUnused(t *tomlfile.Table) {
	for _, have := range c.Credentials {
		uses := func(h HTTP) bool { return h.Credential == have }
		if !slices.ContainsFunc(c.Plugins, func(p Plugin) bool { return slices.ContainsFunc(p.HTTP, uses) }) {
			t.Warn(have.Name, "is used by no plugin", fmt.Sprintf("remove it, or add credential = %q to an origin", have.Name))
		}
	}
}
