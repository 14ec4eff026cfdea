package remedy

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/review"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/interaction"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
)

// subject is the plugin that a refusal is about.
type subject struct {
	finder  *Finder
	refused Refusal
	client  *client
	whole   *catalog.Plugin // with what the config grants
	plugin  *catalog.Plugin // with what the client is granted
	about   review.Subject  // of plugin
}

// decides returns the remedy of what a key of the plugin's table decides. Without a config, no line does.
func (s *subject) decides(key, why string) Remedy {
	if s.whole.Entry.File == "" {
		return Remedy{Why: why}
	}
	return Remedy{Key: key, Why: why, At: []config.Position{s.whole.Entry.Position(key)}}
}

// toolRule returns the tool that was called, and whether it is offered; nil if the plugin has no such tool.
func (s *subject) toolRule() (*manifest.Tool, review.ToolRule) {
	tools := s.about.Manifest.Tools
	for i := range tools {
		if rule := s.about.Tool(tools[i]); rule.Name == s.refused.Tool || tools[i].Name == s.refused.Tool {
			return &tools[i], rule
		}
	}
	return nil, review.ToolRule{}
}

func (s *subject) tool() Remedy {
	t, rule := s.toolRule()
	switch {
	case t == nil:
		return Remedy{Why: "the plugin has no such tool now"}
	case rule.Offered:
		return granted(rule.By)
	case len(rule.At) == 0:
		return Remedy{Why: rule.By}
	}
	return Remedy{Why: rule.By, At: rule.At, Key: rule.Key}
}

// offer explains a prompt or a resource, by the lists of the plugin's table and of the client's.
func (s *subject) offer(what string) Remedy {
	type list struct {
		config.Filter
		at func(key string) config.Position
	}
	lists := []list{{s.whole.Entry.Prompts, s.whole.Entry.Position}}
	if s.client != nil && s.client.table != nil {
		lists = append(lists, list{s.client.table.Prompts, s.client.table.Position})
	}
	if what == offersResources {
		lists[0].Filter = s.whole.Entry.Resources
		if len(lists) > 1 {
			lists[1].Filter = s.client.table.Resources
		}
	}
	for _, l := range lists {
		key, words := "allow_"+what, "not in"
		if l.Allowed(s.refused.Tool) {
			continue
		} else if denied := !(config.Filter{Deny: l.Deny}).Allowed(s.refused.Tool); denied {
			key, words = "deny_"+what, "denied by"
		}
		return Remedy{Key: key, Why: fmt.Sprintf("%s %s (%s)", words, key, l.at(key)), At: []config.Position{l.at(key)}}
	}
	return granted("no list of " + what + " withholds it")
}

// limit tells where a limit comes from: the config, the ceiling, the table of the client, the manifest or, without a line, a default.
func (s *subject) limit(key string) Remedy {
	about := s.about
	about.Resolver = nil // no path matters
	for _, l := range review.Effective(about).Limits {
		if l.Key == key {
			why := fmt.Sprintf("the limit of %s is %s", l.Value, l.By)
			if key == "concurrency" { // the same failure is that of a call for which there was no memory
				why += "; if the call waited for memory, memory in [server] decides"
			}
			return Remedy{Key: "limits." + key, Why: why, At: l.At}
		}
	}
	return Remedy{}
}

func (s *subject) approval() Remedy {
	var tool *manifest.Tool
	if offerOf(s.refused.Method) == offersTools {
		t, rule := s.toolRule()
		if t == nil || !rule.Offered {
			return s.tool()
		}
		tool = t
	}
	rule := s.plugin.Grant.Approval(tool)
	if rule.By == "" {
		return granted("no key requires approval")
	}
	return Remedy{Key: rule.Key, Why: "each call needs approval: " + rule.By, At: []config.Position{rule.At}}
}

// ask explains a kind of question to the client.
func (s *subject) ask(kind string) Remedy {
	switch k := interaction.Kind(kind); {
	case slices.Contains(s.plugin.Grant.Ask, k):
		return granted("the plugin may ask clients for " + kind)
	case !slices.Contains(s.about.Manifest.Capabilities.Ask, k):
		return s.notAsked()
	}
	if cut, ok := s.cut("ask", func(what string) bool { return what == kind }); ok {
		return cut
	}
	found := s.decides("ask", "asking clients for "+kind+" is not in ask")
	if found.Key != "" {
		found.Allow = tomlfile.Text(kind)
	}
	return found
}

// gitAccess is what operations need that change a repository.
var gitAccess = map[string]manifest.Access{
	abi.OpGitAdd: manifest.Commit, abi.OpGitCommit: manifest.Commit, abi.OpGitReset: manifest.Commit,
	abi.OpGitCommitBranch: manifest.ReadWrite, abi.OpGitCreateBranch: manifest.ReadWrite,
}

// git explains an operation on a repository, or on a remote if its target is the origin of one.
func (s *subject) git() Remedy {
	target, need := s.refused.Target, cmp.Or(gitAccess[s.refused.Op], manifest.Read)
	ofRemote := s.refused.Op == abi.OpGitListRemote || s.refused.Op == abi.OpGitFetch
	asks := func(g manifest.Git) bool { return g.Access.Covers(need) && (!ofRemote || len(g.Remotes) > 0) }
	if !slices.ContainsFunc(s.about.Manifest.Capabilities.Git, asks) {
		return s.notAsked()
	}
	contains := func(what string) bool {
		return ofRemote && strings.HasPrefix(what, target+"/") || filepath.IsAbs(target) && filepath.IsAbs(what) && contain.Within(what, target)
	}
	if cut, ok := s.cut("git", contains); ok {
		return cut
	}
	i := slices.IndexFunc(s.plugin.Grant.Git, func(g config.Git) bool { return !ofRemote && contains(g.Repo) })
	switch {
	case i < 0 && ofRemote:
		return s.decides("git", "")
	case i < 0:
		return s.decides("git", "it is in no repository granted to "+s.about.Manifest.Name)
	case s.plugin.Grant.Git[i].Access.Covers(need): // but something in it is not granted, such as the target of a symbolic link
		return Remedy{}
	case s.whole.Entry.ReadOnly:
		return s.decides("read_only", "the repository is granted read-only by read_only")
	}
	return s.decides("git", fmt.Sprintf("the repository is granted with access = %q", s.plugin.Grant.Git[i].Access))
}

// notAsked is the remedy of what the manifest does not request.
func (s *subject) notAsked() Remedy {
	return Remedy{Why: s.about.Manifest.Name + " does not ask for it, so nothing can grant it"}
}

// cut returns the remedy of what a ceiling, or the table of the client, has removed of the grant at a key, if it is what was refused.
func (s *subject) cut(key string, isRefused func(what string) bool) (Remedy, bool) {
	for _, c := range slices.Backward(s.plugin.Grant.Cuts) {
		if c.Key != key || !isRefused(c.What) {
			continue
		}
		r := Remedy{Why: c.What + ": " + c.Why}
		if c.At.File != "" {
			r.At = []config.Position{c.At}
		}
		return r, true
	}
	return Remedy{}, false
}
