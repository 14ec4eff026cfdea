package review

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/interaction"
)

// Change is one difference between two manifests.
type Change struct {
	Key   string `json:"key"`   // the key that differs in plugin.toml; keys of a tool begin with tools.NAME
	Words string `json:"words"` // description of the difference
	Old   string `json:"old,omitempty"`
	New   string `json:"new,omitempty"`
	// More is set if, compared with the old plugin, the new one could do or see more, offers more to clients, or is checked less.
	More bool `json:"asks_for_more,omitempty"`
}

// Compare returns the differences between two manifests, in the order in which manifests list their keys.
func Compare(old, new *manifest.Manifest) []Change {
	c := comparison{old: old, new: new, changes: []Change{}}
	c.identity()
	c.server()
	c.directories()
	c.hidden()
	c.repositories()
	c.names("capabilities.http", "the web server", normalizeOrigins(old.Capabilities.HTTP), normalizeOrigins(new.Capabilities.HTTP))
	c.names("capabilities.env", "the variable", old.Capabilities.Env, new.Capabilities.Env)
	c.names("capabilities.ask", "the permission to ask clients for", interaction.Strings(old.Capabilities.Ask), interaction.Strings(new.Capabilities.Ask))
	c.requirements()
	c.limits()
	c.offers()
	c.tools()
	c.skills()
	return c.changes
}

// AsksForMore reports whether one of changes has More set.
func AsksForMore(changes []Change) bool {
	return slices.ContainsFunc(changes, func(c Change) bool { return c.More })
}

// comparison is the state of one call of Compare.
type comparison struct {
	old, new *manifest.Manifest
	changes  []Change
}

func (c *comparison) add(key string, more bool, format string, args ...any) {
	c.changes = append(c.changes, Change{Key: key, Words: fmt.Sprintf(format, args...), More: more})
}

// list adds a Change for each name that only one of the lists has; more is that of the added ones. verb is what the plugin does with what
// text makes of a name.
func (c *comparison) list(key, verb string, more bool, old, new []string, text func(name string) string) {
	for _, name := range new {
		if !slices.Contains(old, name) {
			c.add(key, more, "%s %s", verb, text(name))
		}
	}
	for _, name := range old {
		if !slices.Contains(new, name) {
			c.add(key, false, "no longer %s %s", verb, text(name))
		}
	}
}

// hidden compares the files that the plugin does not ask for. Fewer patterns ask for more.
func (c *comparison) hidden() {
	old, new := c.old.Capabilities.Deny, c.new.Capabilities.Deny
	for _, pattern := range old {
		if !slices.Contains(new, pattern) {
			c.add("capabilities.deny", true, "asks for files that match %s, formerly not", pattern)
		}
	}
	for _, pattern := range new {
		if !slices.Contains(old, pattern) {
			c.add("capabilities.deny", false, "no longer asks for files that match %s", pattern)
		}
	}
}

// text adds a Change if the strings old and new differ.
func (c *comparison) text(key, what, old, new string, more bool) {
	if old == new {
		return
	}
	words := what + " changed"
	switch {
	case old == "":
		words = what + " was added"
	case new == "":
		words = what + " was removed"
	}
	c.changes = append(c.changes, Change{Key: key, Words: words, Old: old, New: new, More: more})
}

func (c *comparison) identity() {
	old, new := c.old, c.new
	// A plugin with a different name is a different plugin: it has a state directory of its own.
	c.text("plugin.name", "the name", old.Name, new.Name, true)
	c.text("plugin.version", c.version(), old.Version, new.Version, false)
	c.text("plugin.description", "the description", old.Description, new.Description, false)
	c.text("plugin.license", "the licence", old.License, new.License, false)
	c.text("plugin.icon", "the icon", old.Icon.URI, new.Icon.URI, false)
	if old.Validate != new.Validate {
		if new.Validate == manifest.ValidatePlugin {
			c.add("plugin.validate", true, "the plugin checks the arguments of calls, and no longer the host")
		} else {
			c.add("plugin.validate", false, "the host checks the arguments of calls, and no longer the plugin")
		}
	}
	if old.Write != new.Write {
		if new.Write == manifest.WriteDefault {
			c.add("plugin.write", true, "tools that write no longer require allow_write")
		} else {
			c.add("plugin.write", false, "tools that write require allow_write")
		}
	}
	if old.Reads != new.Reads {
		if new.Reads == manifest.ReadsConcurrent {
			c.add("plugin.reads", false, "calls that read no longer wait for calls that write")
		} else {
			c.add("plugin.reads", false, "calls that read wait for calls that write")
		}
	}
	c.text("module.kind", "the kind of the module", old.Module.Kind, new.Module.Kind, false)
	c.text("module.sha256", "the module", old.Module.SHA256, new.Module.SHA256, false)
}

func (c *comparison) version() string {
	if semver.Compare("v"+c.new.Version, "v"+c.old.Version) < 0 {
		return "the version (now a lower one)"
	}
	return "the version"
}

func (c *comparison) server() {
	old, new := c.old.Server, c.new.Server
	c.text("server.name", "the server's name", old.Name, new.Name, false)
	c.text("server.version", "the server's version", old.Version, new.Version, false)
	c.text("server.instructions", "the instruction text for the client's model", old.Instructions, new.Instructions, false)
	c.text("server.failure", "the text of failures", old.Failure, new.Failure, false)
	c.text("server.protocol_versions", "the list of protocol versions", strings.Join(old.ProtocolVersions, ", "), strings.Join(new.ProtocolVersions, ", "), false)
}

// limits compares the limits that the old and the new plugin get if the config sets none.
func (c *comparison) limits() {
	old, new := c.old.Limits.List(), c.new.Limits.List()
	for i, now := range new {
		if now.Value == old[i].Value {
			continue
		}
		c.add("limits."+now.Key, effective(now) > effective(old[i]), "%s: %s, was %s", limitNames[now.Key], limitText(now), limitText(old[i]))
	}
}

func (c *comparison) offers() {
	old, new := c.old.Offers, c.new.Offers
	c.claim("offers.prompts", "prompts", old.Prompts, new.Prompts)
	c.claim("offers.resources", "resources below", old.Resources, new.Resources)
	for _, offer := range []struct {
		key, what string
		old, new  bool
	}{
		{"offers.list_changed", "notifications of changes of its lists", old.ListChanged, new.ListChanged},
		{"offers.subscribe", "notifications of changes of its resources", old.Subscribe, new.Subscribe},
		{"offers.completions", "completions", old.Completions, new.Completions},
		{"offers.logging", "log messages for the client", old.Logging, new.Logging},
		{"server.changes", "notifications of changes when it is served alone", !c.old.Server.NoChanges, !c.new.Server.NoChanges},
	} {
		switch {
		case offer.new && !offer.old:
			c.add(offer.key, true, "offers %s", offer.what)
		case offer.old && !offer.new:
			c.add(offer.key, false, "no longer offers %s", offer.what)
		}
	}
}

func (c *comparison) claim(key, what string, old, new manifest.Claim) {
	switch {
	case old.Any && new.Any:
		return
	case new.Any:
		c.add(key, true, "offers any %s", strings.TrimSuffix(what, " below"))
		return
	case old.Any:
		c.add(key, false, "no longer offers any %s", strings.TrimSuffix(what, " below"))
	}
	was := old.Names
	if old.Any {
		was = slices.Concat(was, new.Names) // it offered them already
	}
	c.list(key, "offers", true, was, new.Names, func(name string) string { return what + " " + name })
}
