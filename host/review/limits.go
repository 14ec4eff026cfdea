package review

import (
	"fmt"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/host/config"
	"github.com/bulkhead-mcp/bulkhead/host/manifest"
)

// limitWords say what a limit bounds.
var limitWords = map[string]string{
	"memory": "of memory for a call", "time": "of time for a call", "fuel": "instructions for a call",
	"input": "for a request", "output": "for an answer", "operations": "host operations for a call",
	"log": "of log lines for a call", "files": "files open at the same time", "concurrency": "calls at the same time",
	"queue": "of waiting for a turn", "http_request": "for the body of a web request", "http_response": "for a web server's answer",
	"http_concurrency": "web requests at the same time",
}

// limits are those that exceed what a plugin gets that does not ask. Those beyond what it gets by asking
// stand in the entry, unless the config's defaults bound them.
func (q *asking) limits() {
	usual, most, bound := config.DefaultLimits().List(), config.Ceilings().List(), q.defaults.Limits.List()
	beyond := map[string]bool{}
	for i, need := range q.m.Limits.List() {
		if usual[i].Value == 0 || need.Value <= usual[i].Value {
			continue
		}
		item := Item{Kind: Limit, What: need.Key, Words: fmt.Sprintf("have %s %s, where %s is usual", need.Text, limitWords[need.Key], usual[i].Text)}
		switch {
		case bound[i].Value > 0 && need.Value > bound[i].Value:
			item.NotGiven = fmt.Sprintf("defaults.limits says %s, which holds for it too", bound[i].Text)
		case bound[i].Value == 0 && need.Value > most[i].Value:
			item.Caution = fmt.Sprintf("%s is the most without an admin's word", most[i].Text)
			beyond[need.Key] = true
		}
		q.add(item)
	}
	q.entry.Limits = q.m.Limits.Pick(func(key string) bool { return beyond[key] })
}

func (q *asking) offers() {
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
	claim("prompts", "offer the prompts", "offer prompts, whose names it says when it runs", o.Prompts)
	claim("resources", "offer the resources below", "offer resources, whose URIs it says when it runs", o.Resources)
	for _, offer := range []struct {
		key, words string
		is         bool
	}{
		{"list_changed", "tell clients when its lists of prompts or resources change", o.ListChanged},
		{"subscribe", "tell clients when one of its resources changes", o.Subscribe},
		{"completions", "complete the arguments of its prompts and resources", o.Completions},
		{"logging", "send log messages to the client", o.Logging},
	} {
		if offer.is {
			q.add(Item{Kind: Offer, What: offer.key, Words: offer.words})
		}
	}
}

// texts are what the plugin says to the client's model, and what is left to it.
func (q *asking) texts() {
	if text := q.m.Server.Instructions; text != "" {
		q.add(Item{Kind: Text, What: "server.instructions", Words: "tell the client's model, where it is served alone: " + text})
	}
	if q.m.Validate == manifest.ValidatePlugin {
		q.add(Item{Kind: Text, What: "plugin.validate", Words: "check the arguments of calls by itself: the host does not"})
	}
}
