package spec

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/sdk/frontmatter"
)

// kind is the type of a known key's value.
type kind int

const (
	kindString kind = iota
	kindList        // of strings; a single string is read as a list of one
	kindCount       // an integer from 0 on
	kindBool
	kindApproval // a mapping
	kindRetry    // a mapping
)

type field struct {
	key  string
	kind kind
}

// fields are the known keys, in the order in which they are written.
var fields = []field{
	{"type", kindString}, {"status", kindString},
	{"depends_on", kindList}, {"labels", kindList}, {"target_files", kindList}, {"context", kindList},
	{"prompt", kindString}, {"branch", kindString},
	{"commits", kindList}, {"completed_at", kindString}, {"model", kindString},
	{"tracks", kindList}, {"informed_by", kindList}, {"origin", kindList},
	{"schedule", kindString}, {"source_branch", kindString}, {"target_branch", kindString},
	{"conflicting_files", kindList}, {"blocked_specs", kindList},
	{"original_spec", kindString}, {"last_verified", kindString}, {"verification_status", kindString},
	{"verification_failures", kindList},
	{"replayed_at", kindString}, {"replay_count", kindCount}, {"original_completed_at", kindString},
	{"derived_fields", kindList},
	{"approval", kindApproval}, {"members", kindList}, {"output_schema", kindString}, {"public", kindBool},
	{"retry_state", kindRetry},
}

func kindOf(key string) (kind, bool) {
	for _, field := range fields {
		if field.key == key {
			return field.kind, true
		}
	}
	return 0, false
}

// checkValue returns an error if a known key may not have a value. Any key may have null, which means the same as
// leaving it out.
func checkValue(kind kind, value *frontmatter.Node) error {
	if value.IsNull() {
		return nil
	}
	switch kind {
	case kindString:
		return checkString(value)
	case kindList:
		return checkList(value)
	case kindCount:
		return checkCount(value)
	case kindBool:
		return checkBool(value)
	case kindApproval:
		return checkApproval(value)
	default:
		return checkRetry(value)
	}
}

func checkString(value *frontmatter.Node) error {
	if value.Kind != frontmatter.Scalar {
		return errors.New("must be a string")
	}
	return nil
}

func checkList(value *frontmatter.Node) error {
	err := errors.New("must be a list of strings")
	if value.Kind == frontmatter.Mapping {
		return err
	}
	for _, item := range value.Children {
		if item.Kind != frontmatter.Scalar {
			return err
		}
	}
	return nil
}

func checkCount(value *frontmatter.Node) error {
	base := 10
	if strings.HasPrefix(value.Text, "0o") || strings.HasPrefix(value.Text, "0x") {
		base = 0
	}
	if _, err := strconv.ParseUint(value.Text, base, 64); err != nil || value.Tag12() != "!!int" {
		return errors.New("must be a whole number from 0 on")
	}
	return nil
}

func checkBool(value *frontmatter.Node) error {
	if value.Kind != frontmatter.Scalar || value.Tag12() != "!!bool" {
		return errors.New("must be true or false")
	}
	return nil
}

// checkApproval checks the mapping of approval: required (a boolean), status, by, at (strings).
func checkApproval(approval *frontmatter.Node) error {
	if approval.Kind != frontmatter.Mapping {
		return errors.New("must be a map")
	}
	if err := approval.CheckKeys(); err != nil {
		return err
	}
	for key, value := range approval.Pairs() {
		var err error
		switch {
		case value.IsNull():
		case key.Text == "required":
			err = checkBool(value)
		case key.Text == "status":
			if statuses := []string{"pending", "approved", "rejected"}; !slices.Contains(statuses, value.Text) {
				err = fmt.Errorf("must be one of %s", strings.Join(statuses, ", "))
			}
		case key.Text == "by" || key.Text == "at":
			err = checkString(value)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", key.Text, err)
		}
	}
	return nil
}

// checkRetry checks the mapping of retry_state, which holds three integers.
func checkRetry(retry *frontmatter.Node) error {
	if retry.Kind != frontmatter.Mapping {
		return errors.New("must be a map")
	}
	if err := retry.CheckKeys(); err != nil {
		return err
	}
	for _, key := range []string{"attempts", "last_retry_time", "next_retry_time"} {
		value := retry.Get(key)
		if value == nil {
			return fmt.Errorf("%s is missing", key)
		}
		if err := checkCount(value); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	return nil
}
