package review

// skills compares the skills by their digests. The text of one is for the client's model, as the description of a tool is.
func (c *comparison) skills() {
	for _, s := range c.new.Skills {
		key := "skills." + s.Name
		was, found := c.old.Skill(s.Name)
		if !found {
			c.changes = append(c.changes, Change{Key: key, Words: "a new skill, which instructs the client's model", New: s.SHA256, More: true})
			continue
		}
		c.text(key, "the instructions for the client's model, or a file beside them,", was.SHA256, s.SHA256, false)
	}
	for _, s := range c.old.Skills {
		if _, found := c.new.Skill(s.Name); !found {
			c.add("skills."+s.Name, false, "the skill was removed")
		}
	}
}
