package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/semver"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/userfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
)

const maxName = 64 // most bytes of a plugin's name, which is also the name of its state directory

var placeholders = []string{"{code}", "{plugin}", "{tool}", "{message}"}

// IsPluginName reports whether s is a valid name of a plugin.
func IsPluginName(s string) bool {
	return s != "" && len(s) <= maxName && consistsOf(s[:1], lower) && consistsOf(s, lower+digits+"-")
}

const (
	lower  = "abcdefghijklmnopqrstuvwxyz"
	upper  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits = "0123456789"
)

// consistsOf reports whether every character of s is in set. A regular expression would have to be compiled at the start of every
// process.
func consistsOf(s, set string) bool { return strings.Trim(s, set) == "" }

func (m *Manifest) readPlugin(t *tomlfile.Table) {
	m.NameLine = t.LineOf("name")
	m.Name = t.Required("name", `write name = "…" in [plugin]: a to z, 0 to 9 and -, beginning with a letter`)
	if m.Name != "" && !IsPluginName(m.Name) {
		t.Fault("name", fmt.Sprintf("%s is not a valid plugin name", tomlfile.Quote(m.Name)),
			fmt.Sprintf("use a to z, 0 to 9 and -, beginning with a letter, at most %d", maxName))
	}
	m.Version = t.Required("version", `write version = "0.1.0" in [plugin]`)
	if m.Version != "" && !IsVersion(m.Version) {
		t.Fault("version", fmt.Sprintf("%s is not a semantic version", tomlfile.Quote(m.Version)),
			`write three numbers, such as "0.1.0" or "1.0.0-rc.1"`)
	}
	m.Description = t.Required("description", `write description = "…" in [plugin]: what the plugin is for, in a sentence`)
	m.License = t.String("license")
	m.Icon = readIcon(t)
	m.Validate = t.OneOf("validate", ValidateHost, ValidatePlugin)
	m.Write = t.OneOf("write", WriteDefault, WriteOptIn)
	m.Reads = t.OneOf("reads", ReadsOrdered, ReadsConcurrent)
}

// IsVersion reports whether v is a semantic version. The package semver also accepts v1 and v1.2, which IsVersion refuses.
func IsVersion(v string) bool {
	v = "v" + v
	return semver.IsValid(v) && semver.Canonical(v)+semver.Build(v) == v
}

func (m *Manifest) readModule(t *tomlfile.Table) {
	m.Module = Module{
		Line:   t.LineOf("file"),
		File:   t.Required("file", `write file = "plugin.wasm" in [module]: the compiled module's path in this directory`),
		Kind:   t.OneOf("kind", KindABI1, KindCommand, KindExtism, KindScript),
		SHA256: ReadDigest(t, "sha256"),
	}
	checkVisible(t, "file", m.Module.File)
	if f := m.Module.File; f != "" && (!filepath.IsLocal(f) || path.Clean(f) != f || f == "." || strings.ContainsAny(f, "\\\x00")) {
		t.Fault("file", fmt.Sprintf("%s is not a clean relative path inside the plugin's directory", tomlfile.Quote(f)),
			`write a path without "." and "..", such as "plugin.wasm"`)
	}
}

// ReadDigest returns the SHA-256 at key in lower-case hex; empty if the key is absent or its value invalid.
func ReadDigest(t *tomlfile.Table, key string) string {
	s := strings.ToLower(t.String(key))
	if t.Has(key) && !userfile.IsDigest(s) {
		t.Fault(key, "is not a SHA-256 in hex", "write 64 hexadecimal digits, or leave it out")
		return ""
	}
	return s
}

func (m *Manifest) readBuild(t *tomlfile.Table) {
	m.Build = Build{Go: t.String("go"), Command: t.Strings("command")}
	if !t.Present() {
		return
	}
	if t.Has("go") == t.Has("command") {
		t.Fault("go", "exactly one of go and command must be set", `write go = "." or command = ["make", "plugin.wasm"]`)
	}
	if g := m.Build.Go; t.Has("go") && !filepath.IsLocal(filepath.FromSlash(g)) {
		t.Fault("go", fmt.Sprintf("%s is not a package in the plugin's directory", tomlfile.Quote(g)), `write "." or "./cmd/plugin"`)
	}
	if c := m.Build.Command; t.Has("command") && (len(c) == 0 || c[0] == "") {
		t.Fault("command", "names no program", `write the program and its arguments: ["make", "plugin.wasm"]`)
	}
}

func (m *Manifest) readServer(t *tomlfile.Table) {
	m.Server = Server{Name: m.Name, Version: m.Version, Instructions: t.String("instructions"), Failure: readFailure(t),
		NoChanges: !t.Bool("changes", true)}
	checkProse(t, "instructions", m.Server.Instructions)
	if t.Has("name") {
		m.Server.Name = t.Required("name", "")
		checkVisible(t, "name", m.Server.Name)
	}
	if t.Has("version") {
		m.Server.Version = t.Required("version", "")
		checkVisible(t, "version", m.Server.Version)
	}
	m.Server.ProtocolVersions = t.Distinct("protocol_versions", func(v string) (what, remedy string) {
		if _, err := time.Parse(time.DateOnly, v); err != nil {
			what = fmt.Sprintf("%s is not a protocol version", tomlfile.Quote(v))
		}
		return what, `write its date, such as "2025-06-18"`
	})
}

// readFailure returns the template at the key failure of t, which is [server] or a tool; empty if the key is absent.
func readFailure(t *tomlfile.Table) string {
	template := t.String("failure")
	for p := range placeholdersIn(template) {
		if !slices.Contains(placeholders, p) {
			t.Fault("failure", fmt.Sprintf("has the unknown placeholder %s", tomlfile.Quote(p)),
				"the placeholders are "+strings.Join(placeholders, " "))
			break
		}
	}
	return template
}

// placeholdersIn yields every placeholder of template, whether known or not. A placeholder is lower-case letters and _ in braces.
func placeholdersIn(template string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for {
			open := strings.IndexByte(template, '{')
			if open < 0 {
				return
			}
			template = template[open+1:]
			name := template[:len(template)-len(strings.TrimLeft(template, lower+"_"))]
			if name != "" && strings.HasPrefix(template[len(name):], "}") && !yield("{"+name+"}") {
				return
			}
		}
	}
}

func (m *Manifest) readOffers(t *tomlfile.Table) {
	m.Offers = Offers{
		Prompts:     readClaim(t, "prompts", "names"),
		Resources:   readClaim(t, "resources", "URI prefixes"),
		ListChanged: t.Bool("list_changed", false),
		Subscribe:   t.Bool("subscribe", false),
		Completions: t.Bool("completions", false),
		Logging:     t.Bool("logging", false),
	}
	for i, prefix := range m.Offers.Resources.Names {
		if scheme, _, ok := strings.Cut(prefix, ":"); prefix != "" && (!ok || !isScheme(scheme)) {
			t.FaultItem("resources", i, fmt.Sprintf("%s is not a valid URI prefix", tomlfile.Quote(prefix)),
				`write its scheme at least: "notes://"`)
		}
	}
	resources := m.Offers.Resources.Offers()
	lists := resources || m.Offers.Prompts.Offers()
	checkDependency(t, "list_changed", m.Offers.ListChanged, lists, "prompts or resources")
	checkDependency(t, "subscribe", m.Offers.Subscribe, resources, "resources")
	checkDependency(t, "completions", m.Offers.Completions, lists, "prompts or resources")
}

// checkDependency reports the offer at key if the manifest does not contain what the offer depends on.
func checkDependency(t *tomlfile.Table, key string, offered, other bool, what string) {
	if offered && !other {
		t.Fault(key, "has no effect without "+what, "offer "+what+", or remove it")
	}
}

// Problem and remedy for an identifier that could look the same as a different one.
const (
	invisible     = "has an invisible character"
	visibleRemedy = "write visible letters, digits and marks; the only space is U+0020"
)

// checkVisible reports the identifier value if an admin could confuse it with a different one, because it has an invisible character.
func checkVisible(t *tomlfile.Table, key, value string) {
	if !visible.Only(value) {
		t.Fault(key, fmt.Sprintf("%s %s", tomlfile.Quote(value), invisible), visibleRemedy)
	}
}

// checkProse reports a text that models read, and that clients may show when they ask for consent, if it hides or reorders characters.
func checkProse(t *tomlfile.Table, key, text string) {
	if visible.Prose(text) != text {
		t.Fault(key, tomlfile.Quote(text)+" has a character that is invisible or reorders text", "remove it, such as U+202E, U+200B or a control character")
	}
}

// checkProseIn is checkProse for the first string or name in a JSON value: models read a schema whole. A value that is no JSON is reported
// elsewhere.
func checkProseIn(t *tomlfile.Table, key string, value json.RawMessage) {
	in := json.NewDecoder(bytes.NewReader(value))
	for {
		token, err := in.Token()
		if err != nil {
			return
		}
		if text, ok := token.(string); ok && visible.Prose(text) != text {
			checkProse(t, key, text)
			return
		}
	}
}

func isScheme(s string) bool {
	return s != "" && consistsOf(s[:1], lower+upper) && consistsOf(s, lower+upper+digits+"+.-")
}

func readClaim(t *tomlfile.Table, key, what string) Claim {
	if !t.IsArray(key) {
		return Claim{Any: t.Bool(key, false)}
	}
	names := t.Distinct(key, func(name string) (string, string) {
		switch {
		case name == "":
			return "is empty", "write true to claim all, or the " + what
		case !visible.Only(name):
			return fmt.Sprintf("%s %s", tomlfile.Quote(name), invisible), visibleRemedy
		}
		return "", ""
	})
	return Claim{Names: names, Line: t.LineOf(key)}
}
