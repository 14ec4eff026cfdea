package delta

import "fmt"

// Place describes the location of an orphan.
func (o Orphan) Place() string {
	if o.Section == "" {
		return `above the first "## " section`
	}
	return fmt.Sprintf(`under "## %s"`, o.Section)
}

// Other returns the missing side of the rename, "FROM" or "TO".
func (u Unpaired) Other() string {
	if u.Side == "FROM" {
		return "TO"
	}
	return "FROM"
}
