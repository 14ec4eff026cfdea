package workflow

import (
	"fmt"

	"github.com/bulkhead-mcp/bulkhead/plugins/chant/criteria"
)

// Verification holds the numbers of ticked and open acceptance criteria of a spec. Verify does not check whether the
// criteria are met.
type Verification struct {
	ID       string   `json:"spec_id"`
	Verified bool     `json:"verified"`
	Criteria Tally    `json:"criteria"`
	Items    []string `json:"unchecked_items"`
	Notes    string   `json:"verification_notes"`
}

// Tally holds numbers of criteria. Total and Unchecked follow different rules (see package criteria), so Checked, which
// is computed from them, may differ from the number of ticked checkboxes.
type Tally struct {
	Total     int `json:"total"`
	Checked   int `json:"checked"`
	Unchecked int `json:"unchecked"`
}

// Verify counts the acceptance criteria of a spec.
func (p *Project) Verify(id string) (Verification, error) {
	entry, err := p.find(id, true)
	if err != nil {
		return Verification{}, err
	}
	return verify(entry.ID, entry.Spec.Body), nil
}

func verify(id, body string) Verification {
	total, unchecked := criteria.Total(body), criteria.Unchecked(body)
	result := Verification{
		ID:       id,
		Verified: unchecked == 0 && total > 0,
		Criteria: Tally{Total: total, Checked: max(0, total-unchecked), Unchecked: unchecked},
		Items:    []string{},
	}
	if unchecked > 0 {
		result.Items = append(result.Items, criteria.Items(body)...)
	}
	switch {
	case total == 0:
		result.Notes = "No acceptance criteria found"
	case result.Verified:
		result.Notes = "All acceptance criteria met"
	default:
		result.Notes = fmt.Sprintf("%d criteria not yet checked", unchecked)
	}
	return result
}
