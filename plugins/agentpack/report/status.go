package report

import (
	"cmp"
	"slices"
)

// DriftSummary holds the number of drifted files for each kind of drift.
type DriftSummary struct {
	Modified int `json:"modified"`
	Missing  int `json:"missing"`
	Extra    int `json:"extra"`
}

// RootSummary holds the numbers of drifted files in one root.
type RootSummary struct {
	Target    string       `json:"target"`
	Root      string       `json:"root"`
	RootPosix string       `json:"root_posix"`
	Summary   DriftSummary `json:"summary"`
}

// StatusReport is the payload of the tool status.
type StatusReport struct {
	Profile       string        `json:"profile"`
	Targets       []string      `json:"targets"`
	Drift         []DriftItem   `json:"drift"`
	Summary       DriftSummary  `json:"summary"`
	SummaryByRoot []RootSummary `json:"summary_by_root"`
	SummaryTotal  *DriftSummary `json:"summary_total,omitempty"` // set only if the call requested certain kinds of drift
	NextActions   []string      `json:"next_actions,omitempty"`
	Detailed      []Action      `json:"next_actions_detailed,omitempty"`
}

// Report returns the payload of the tool status. The argument "only" lists the kinds of drift to report; an empty list
// means all kinds. Each recommended command begins with prefix. The argument "more" lists additional actions.
func (d Drift) Report(profile string, targets []string, only []DriftKind, prefix string, more []Action) StatusReport {
	shown := slices.Clone(d.Items)
	report := StatusReport{Profile: profile, Targets: targets}
	total := summarize(d.Items)
	if len(only) > 0 {
		shown = slices.DeleteFunc(shown, func(item DriftItem) bool { return !slices.Contains(only, item.Kind) })
		report.SummaryTotal = &total
	}
	report.Drift = append([]DriftItem{}, shown...)
	report.Summary = summarize(shown)
	report.SummaryByRoot = byRoot(shown)
	report.Detailed = SortActions(append(d.actions(total, prefix), more...))
	report.NextActions = Commands(report.Detailed)
	return report
}

func summarize(items []DriftItem) DriftSummary {
	var summary DriftSummary
	for _, item := range items {
		switch item.Kind {
		case Modified:
			summary.Modified++
		case Missing:
			summary.Missing++
		case Extra:
			summary.Extra++
		}
	}
	return summary
}

func byRoot(items []DriftItem) []RootSummary {
	roots := []RootSummary{}
	groups := map[RootSummary][]DriftItem{}
	for _, item := range items {
		root := RootSummary{Target: item.Target, Root: item.Root, RootPosix: item.RootPosix}
		if root.Root != "" {
			groups[root] = append(groups[root], item)
		}
	}
	for root, items := range groups {
		root.Summary = summarize(items)
		roots = append(roots, root)
	}
	slices.SortFunc(roots, func(a, b RootSummary) int {
		return cmp.Or(cmp.Compare(a.Target, b.Target), cmp.Compare(a.RootPosix, b.RootPosix))
	})
	return roots
}

// actions returns the recommended commands that resolve the drift.
func (d Drift) actions(total DriftSummary, prefix string) []Action {
	preview := Action{Code: "preview_diff", Command: prefix + " preview --diff --json"}
	deploy := Action{Code: "deploy_apply", Command: prefix + " deploy --apply --yes --json"}
	propose := Action{Code: "evolve_propose", Command: prefix + " evolve propose --yes --json"}
	var actions []Action
	if d.Unmanaged {
		actions = append(actions, deploy)
	}
	switch {
	case total.Modified+total.Missing > 0 && d.Deployed:
		actions = append(actions, preview, deploy, propose)
	case total.Modified+total.Missing > 0:
		actions = append(actions, preview, deploy)
	case total.Extra > 0:
		actions = append(actions, preview)
	}
	return actions
}
