package delta

import "fmt"

// Place says where an orphan stands.
func (o Orphan) Place() string {
	if o.Section == "" {
		return `above the first "## " section`
	}
	return fmt.Sprintf(`under "## %s"`, o.Section)
}

// Other is the side that is missing.
func (u Unpaired) Other() string {
	if u.Side == "FROM" {
		return "TO"
	}
	return "FROM"
}
