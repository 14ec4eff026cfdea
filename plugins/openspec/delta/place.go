package delta

import "fmt"

// Place returns a description of the place of an orphan.
func (o Orphan) Place() string {
	if o.Section == "" {
		return `above the first "## " section`
	}
	return fmt.Sprintf(`under "## %s"`, o.Section)
}

// Other returns the side of the rename that is missing, "FROM" or "TO".
func (u Unpaired) Other() string {
	if u.Side == "FROM" {
		return "TO"
	}
	return "FROM"
}
