package delta

import "fmt"

// Place describes where an orphan is.
func (o Orphan) Place() string {
	if o.Section == "" {
		return `above the first "## " section`
	}
	return fmt.Sprintf(`under "## %s"`, o.Section)
}

// Other returns the missing side.
func (u Unpaired) Other() string {
	if u.Side == "FROM" {
		return "TO"
	}
	return "FROM"
}
