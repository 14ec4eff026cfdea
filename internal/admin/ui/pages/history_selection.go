package pages

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"strings"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/history"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/terminal"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
)

// selection is which calls the page History shows, with links to others.
type selection struct {
	Ranges  []link
	Filters []filter
	Command string // that shows the same in a terminal

	parameters url.Values // of the page, without unknown ones
	query      history.Query
}

// link is a link to the page with another selection. Href is empty if no selection has what Name says.
type link struct {
	Name, Href string
	Current    bool
}

// filter is a plugin, tool or client that is selected. Href is the page without it.
type filter struct{ What, Name, Href string }

// ranges are the ranges of time that can be selected.
var ranges = []struct {
	name string
	days int
}{{"day", 1}, {"week", 7}, {"month", 30}, {"quarter", 91}, {"year", 365}}

// parseSelection returns the selection of a query of the page.
func parseSelection(o discovery.Options, query url.Values) (*selection, error) {
	s := &selection{parameters: url.Values{}}
	for _, name := range []string{"range", "plugin", "tool", "client"} {
		if value := query.Get(name); value != "" {
			s.parameters.Set(name, value)
		}
	}
	selected, words := &s.query.Select, []string{"audit", "--summary"}
	current := cmp.Or(query.Get("range"), "week")
	for _, r := range ranges {
		s.Ranges = append(s.Ranges, link{r.name, s.href("range", r.name), r.name == current})
		if r.name == current {
			selected.Since = time.Now().Add(-time.Duration(r.days) * 24 * time.Hour)
			words = append(words, "--since", fmt.Sprintf("%dd", r.days))
		}
	}
	if selected.Since.IsZero() {
		return nil, usage.Errorf("there is no range %q: use day, week, month, quarter or year", current)
	}
	for _, f := range []struct {
		what string
		to   *[]string
	}{{"plugin", &selected.Plugins}, {"tool", &selected.Tools}, {"client", &selected.Clients}} {
		if value := query.Get(f.what); value != "" {
			*f.to = []string{value}
			s.Filters = append(s.Filters, filter{f.what, value, s.href(f.what, "")})
			words = append(words, "--"+f.what, value)
		}
	}
	s.Command = terminal.Command(o, words...)
	return s, nil
}

// href returns the address of the page with one parameter changed; an empty value removes it.
func (s *selection) href(parameter, value string) string {
	changed := maps.Clone(s.parameters)
	if changed.Set(parameter, value); value == "" {
		changed.Del(parameter)
	}
	if len(changed) == 0 {
		return "./history"
	}
	return "./history?" + changed.Encode()
}

// rowLink returns a link, called name, to the page with the calls of one tool, plugin or client. Some values cannot be selected: a * at the end
// selects every name with that prefix, and an empty one everything.
func (s *selection) rowLink(name, parameter, value string) link {
	if value == "" || strings.HasSuffix(value, "*") {
		return link{Name: name}
	}
	return link{Name: name, Href: s.href(parameter, value)}
}
