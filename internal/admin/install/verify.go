package install

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/terminal"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/code"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/skills"
)

// The states of a Pin.
const (
	Matches   = "ok"
	Changed   = "changed"    // the digest differs from the pin
	Missing   = "missing"    // the file is pinned but cannot be read
	NotPinned = "not pinned" // there is no digest to compare the file with
	Revoked   = "revoked"    // the plugin matches, and must not be served
)

// Pin is a file of a plugin, and whether it matches its pin.
type Pin struct {
	Plugin string `json:"plugin"`
	File   string `json:"file"`
	State  string `json:"state"`
	Pinned string `json:"pinned,omitempty"` // the expected SHA-256
	Found  string `json:"found,omitempty"`  // the actual SHA-256
	By     string `json:"by"`               // the key that pins the file, or that can pin it
	Reason string `json:"reason,omitempty"` // why State is Revoked
	Remedy string `json:"remedy,omitempty"`
}

// Broken reports whether the file is pinned but does not match, or is revoked.
func (p Pin) Broken() bool { return p.State == Changed || p.State == Missing || p.State == Revoked }

// Verify lists the files that the config includes. It compares the manifest of each plugin in the config with the digest in the
// config, and each module and skill with the digest in its manifest. Of the environment variables in the config, only those in paths of
// plugins must be set.
func Verify(o discovery.Options) ([]Pin, error) {
	source, file, err := findConfigFile(o)
	if err != nil {
		return nil, err
	}
	named := source.File
	if !file.Exists {
		return nil, usage.Errorf("there is no %s, so nothing is pinned: add plugins with `bulkhead add DIR`, or pass the config's path with --config", named)
	}
	c, problems, err := discovery.ParseTrusted(o, source, file.Data)
	if err != nil {
		return nil, err
	}
	if err := problems.Err(); err != nil {
		return nil, &usage.Error{Err: err}
	}
	if err := expandPaths(o, c); err != nil {
		return nil, err
	}
	pins := []Pin{}
	for _, f := range c.Files[1:] {
		pins = append(pins, includedPin(f))
	}
	admission, err := discovery.FindAdmission(o, c)
	if err != nil {
		return nil, err
	}
	for _, p := range c.Plugins {
		pins = append(pins, verifyPlugin(o, p, admission)...)
	}
	return pins, nil
}

// includedPin returns the pin of a file that the config includes. Its state is never Changed: a config is invalid if an included
// file does not match its digest.
func includedPin(f config.File) Pin {
	pin := Pin{Plugin: "(included)", File: f.Path, State: NotPinned, Found: f.SHA256, By: "sha256 in include",
		Remedy: fmt.Sprintf("review it, and pin it with { path = …, sha256 = %q } in include", f.SHA256)}
	if f.Pinned {
		pin.State, pin.Pinned, pin.Remedy = Matches, f.SHA256, ""
	}
	return pin
}

func verifyPlugin(o discovery.Options, p config.Plugin, admission *discovery.Admission) []Pin {
	m, problems := manifest.Load(p.Path)
	pin := Pin{Plugin: nameOrBase(m, p), File: filepath.Join(p.Path, manifest.FileName), Pinned: p.SHA256, By: fmt.Sprintf("sha256 (%s)", p.At("sha256"))}
	switch {
	case m == nil && p.SHA256 != "":
		pin.State, pin.Remedy = Missing, cmp.Or(refetch(p), "restore the plugin, or `bulkhead remove` it: "+problems.Error())
		return []Pin{pin}
	case m == nil:
		pin.State, pin.Remedy = NotPinned, problems.Error()
		return []Pin{pin}
	}
	pin.Found = m.Digest
	switch p.SHA256 {
	case "":
		pin.State, pin.Remedy = NotPinned, fmt.Sprintf("review it, and pin it with `%s`", terminal.Command(o, "add", "--repin", p.Path))
	case m.Digest:
		pin.State = Matches
	default:
		pin.State, pin.Remedy = Changed, "find out who changed it; "+cmp.Or(refetch(p), fmt.Sprintf("if it was you, review it with `%s`", terminal.Command(o, "add", "--repin", p.Path)))
	}
	if r := admission.CheckRevoked(p, m); r != nil && r.Revoked && pin.State != Changed {
		pin.State, pin.Reason, pin.Remedy = Revoked, r.What, r.Remedy
	}
	if m.Module.File == "" {
		return []Pin{pin}
	}
	parts := []Pin{verifyModule(pin.Plugin, m)}
	for _, s := range m.Skills {
		parts = append(parts, verifySkill(pin.Plugin, m, s))
	}
	for i, part := range parts {
		if part.Broken() {
			parts[i].Remedy = cmp.Or(refetch(p), part.Remedy)
		}
	}
	return append([]Pin{pin}, parts...)
}

// refetch returns the remedy for a plugin that was fetched and is missing or damaged; empty for others.
func refetch(p config.Plugin) string {
	if p.From == "" {
		return ""
	}
	return "`bulkhead update --pinned` fetches it again"
}

func verifyModule(plugin string, m *manifest.Manifest) Pin {
	pin := Pin{Plugin: plugin, File: m.ModuleFile(), Pinned: m.Module.SHA256, By: "module.sha256 of " + manifest.FileName}
	sum, err := code.DigestOf(m.ModuleFile())
	pin.Found = sum
	switch {
	case m.Module.SHA256 == "":
		pin.State, pin.Remedy = NotPinned, "build the plugin with `bulkhead plugin build`, which fills in the module's digest"
	case errors.Is(err, fs.ErrNotExist):
		pin.State, pin.Remedy = Missing, "build the plugin, or restore the module"
	case err != nil:
		pin.State, pin.Remedy = Missing, err.Error()
	case sum == m.Module.SHA256:
		pin.State = Matches
	default:
		pin.State, pin.Remedy = Changed, "find out who changed it, or build the plugin again"
	}
	return pin
}

func verifySkill(plugin string, m *manifest.Manifest, s manifest.Skill) Pin {
	pin := Pin{Plugin: plugin, File: filepath.Join(m.Dir, filepath.FromSlash(s.Path)), Pinned: s.SHA256, By: "sha256 in [[skills]] of " + manifest.FileName}
	loaded, err := skills.Load(m.Dir, s.Path)
	if err == nil {
		pin.Found = loaded.Digest()
	}
	switch {
	case s.SHA256 == "":
		pin.State, pin.Remedy = NotPinned, "build the plugin with `bulkhead plugin build`, which fills in the skill's digest"
	case err != nil:
		pin.State, pin.Remedy = Missing, fmt.Sprintf("restore the skill: %v", err)
	case pin.Found == s.SHA256:
		pin.State = Matches
	default:
		pin.State, pin.Remedy = Changed, "find out who changed it, or build the plugin again"
	}
	return pin
}
