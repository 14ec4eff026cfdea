package review

import (
	"fmt"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// limitWords describe what each limit bounds. In the review, each follows the value of the limit, as in "2 s of time for a call".
var limitWords = map[string]string{
	"memory": "of memory for a call", "time": "of time for a call", "fuel": "instructions for a call",
	"input": "for a request", "output": "for an answer", "operations": "host operations for a call",
	"log": "of log lines for a call", "files": "files open at the same time", "concurrency": "calls at the same time",
	"queue": "of waiting in the queue", "ask": "for a client to answer", "task": "of time for a call that runs as a task", "http_request": "for the body of a web request", "http_response": "for a web server's answer",
	"http_concurrency": "web requests at the same time", "result": "of a result for a model",
}

// limits adds an item for each requested limit that exceeds its default. The entry sets a limit if the request exceeds the maximum that
// applies without a config setting, and [defaults] does not set that limit.
func (q *inquiry) limits() {
	builtin, most, bound := config.DefaultLimits().List(), config.Ceilings().List(), q.defaults.Limits.List()
	beyond := map[string]bool{}
	for i, need := range q.m.Limits.List() {
		if builtin[i].Value == 0 || need.Value <= builtin[i].Value {
			continue
		}
		item := Item{Kind: Limit, What: need.Key, Words: fmt.Sprintf("have %s %s, where %s is the default", need.Text, limitWords[need.Key], builtin[i].Text)}
		switch {
		case bound[i].Value > 0 && need.Value > bound[i].Value:
			item.NotGiven = fmt.Sprintf("defaults.limits bounds it to %s", bound[i].Text)
		case bound[i].Value == 0 && need.Value > most[i].Value:
			item.Caution = fmt.Sprintf("%s is the maximum without a config setting", most[i].Text)
			beyond[need.Key] = true
		}
		q.add(item)
	}
	q.entry.Limits = q.m.Limits.Map(func(_ int, need manifest.Limit) int64 {
		if beyond[need.Key] {
			return need.Value
		}
		return 0
	})
}

func (q *inquiry) offers() {
	o := q.m.Offers
	claim := func(key, named, unnamed string, c manifest.Claim) {
		words := unnamed
		if !c.Any {
			words = named + ": " + strings.Join(c.Names, ", ")
		}
		if c.Offers() {
			q.add(Item{Kind: Offer, What: key, Words: words})
		}
	}
	claim("prompts", "offer the prompts", "offer prompts, whose names are known only when it runs", o.Prompts)
	claim("resources", "offer the resources below", "offer resources, whose URIs are known only when it runs", o.Resources)
	for _, offer := range []struct {
		key, words string
		is         bool
	}{
		{"list_changed", "notify clients when its lists of prompts or resources change", o.ListChanged},
		{"subscribe", "notify clients when one of its resources changes", o.Subscribe},
		{"completions", "complete the arguments of its prompts and resources", o.Completions},
		{"logging", "send log messages to the client", o.Logging},
	} {
		if offer.is {
			q.add(Item{Kind: Offer, What: offer.key, Words: offer.words})
		}
	}
}

// texts adds an item for the instructions to the client's model, and one for a plugin that validates arguments instead of the host.
func (q *inquiry) texts() {
	if text := q.m.Server.Instructions; text != "" {
		q.add(Item{Kind: Text, What: "server.instructions", Words: "instruct the client's model, when it is served alone: " + text})
	}
	for _, s := range q.m.Skills {
		q.add(Item{Kind: Text, What: "skills." + s.Name, Words: "instruct the client's model by a skill: " + s.Path + "/SKILL.md"})
	}
	if q.m.Validate == manifest.ValidatePlugin {
		q.add(Item{Kind: Text, What: "plugin.validate", Words: "check the arguments of calls itself: the host does not"})
	}
}
