package spec

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/sdk/frontmatter"
)

// kind is the type that the value of a known key must have.
type kind int

const (
	kindString kind = iota
	kindType        // a string that must not be null
	kindStatus      // the name of a Status
	kindList        // a list of strings; a single string counts as a list of one string
	kindCount       // a non-negative integer of at most 32 bits
	kindBool
	kindApproval // the mapping of the key approval
	kindRetry    // the mapping of the key retry_state
)

type field struct {
	key  string
	kind kind
}

// fields are the known keys, in the order in which Encode writes them.
var fields = []field{
	{"type", kindType}, {"status", kindStatus},
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

// isOptional reports whether a value of the kind may be null. A null value means the same as an absent key.
func (k kind) isOptional() bool { return k != kindType && k != kindStatus }

// checkValue returns an error if value is not valid for a known key of the given kind. The caller must have resolved
// aliases.
func checkValue(kind kind, value *frontmatter.Node) error {
	if kind.isOptional() {
		if err := checkOptional(value); err != nil || isNull(value) {
			return err
		}
	}
	switch kind {
	case kindStatus:
		_, err := parseStatus(value)
		return err
	case kindList:
		return checkList(value)
	case kindCount:
		return checkCount(value, 32)
	case kindBool:
		_, err := parseBool(value)
		return err
	case kindApproval:
		return checkApproval(value)
	case kindRetry:
		return checkRetry(value)
	default:
		return checkString(value)
	}
}

func checkString(value *frontmatter.Node) error {
	if value.Kind != frontmatter.Scalar {
		return errors.New("must be a string")
	}
	return nil
}

func parseStatus(value *frontmatter.Node) (Status, error) {
	name, err := variant(value)
	if err != nil {
		return "", fmt.Errorf("status: %w", err)
	}
	status, known := ParseStatus(name)
	if !known {
		return "", fmt.Errorf("unknown status %q", name)
	}
	return status, nil
}

func checkList(value *frontmatter.Node) error {
	err := errors.New("must be a list of strings")
	if value.Kind == frontmatter.Mapping {
		return err
	}
	for _, item := range value.Children {
		if item.Resolve().Kind != frontmatter.Scalar {
			return err
		}
	}
	return nil
}

// checkMapping returns an error if value is not a mapping in which each known key occurs at most once.
func checkMapping(value *frontmatter.Node, known ...string) error {
	if value.Kind != frontmatter.Mapping && !isEmpty(value) {
		return errors.New("must be a map")
	}
	return checkKeys(value, func(key string) bool { return slices.Contains(known, key) })
}

// checkApproval returns an error unless approval is a valid mapping: required is a boolean; status, by and at are
// strings.
func checkApproval(approval *frontmatter.Node) error {
	if err := checkMapping(approval, "required", "status", "by", "at"); err != nil {
		return err
	}
	for key, value := range entries(approval) {
		var err error
		switch key {
		case "required":
			_, err = parseBool(value)
		case "status":
			err = checkApprovalStatus(value)
		case "by", "at":
			err = checkValue(kindString, value)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	return nil
}

func checkApprovalStatus(value *frontmatter.Node) error {
	name, err := variant(value)
	if statuses := []string{"pending", "approved", "rejected"}; err == nil && !slices.Contains(statuses, name) {
		err = fmt.Errorf("must be one of %s", strings.Join(statuses, ", "))
	}
	return err
}

// retryKeys are the required keys of retry_state.
var retryKeys = []string{"attempts", "last_retry_time", "next_retry_time"}

// checkRetry returns an error unless retry is a mapping with the three integers of retryKeys.
func checkRetry(retry *frontmatter.Node) error {
	if err := checkMapping(retry, retryKeys...); err != nil {
		return err
	}
	missing := slices.Clone(retryKeys)
	for key, value := range entries(retry) {
		at := slices.Index(missing, key)
		if at < 0 {
			continue
		}
		missing = slices.Delete(missing, at, at+1)
		if err := checkCount(value, 64); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("%s is missing", missing[0])
	}
	return nil
}
