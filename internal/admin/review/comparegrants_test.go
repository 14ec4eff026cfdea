package review_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/review"
)

func TestCompareGrants(t *testing.T) {
	before := review.Policy{
		Tools:     []review.ToolRule{{Name: "get", Access: "read", Offered: true, Reason: review.Reason{By: "x"}}, {Name: "old", Access: "read", Offered: true}},
		Folders:   []review.Grant{{What: "/p", Access: "r"}},
		Variables: []review.Grant{{What: "TOKEN"}},
		Limits:    []review.LimitRule{{Key: "time", Value: "30s"}, {Key: "memory", Value: "64MiB"}},
		Isolation: "pristine",
	}
	after := review.Policy{
		Tools:        []review.ToolRule{{Name: "get", Access: "read", Offered: true, Reason: review.Reason{By: "y"}}, {Name: "withheld", Access: "write"}},
		Folders:      []review.Grant{{What: "/p", Access: "rw"}},
		Hidden:       []review.Grant{{What: "**/.env"}},
		Repositories: []review.Grant{{What: "/p", Access: "r", Remotes: []string{"origin"}}},
		Origins:      []review.Grant{{What: "http://127.0.0.1:1", More: "private"}},
		Questions:    []review.Grant{{What: "roots"}},
		Limits:       []review.LimitRule{{Key: "time", Value: "1m"}, {Key: "memory", Value: "64MiB"}},
		Isolation:    "reused",
	}
	want := []review.GrantLine{
		{Change: review.Removed, Kind: "tool", What: "old read"}, {Kind: "tool", What: "get read"},
		{Change: review.Removed, Kind: "directory", What: "/p r"}, {Change: review.Added, Kind: "directory", What: "/p rw"},
		{Change: review.Added, Kind: "hidden files", What: "**/.env"}, {Change: review.Added, Kind: "repository", What: "/p r origin"}, {Change: review.Added, Kind: "web server", What: "http://127.0.0.1:1 private"},
		{Change: review.Added, Kind: "question", What: "roots"},
		{Change: review.Removed, Kind: "limit", What: "time 30s"}, {Change: review.Added, Kind: "limit", What: "time 1m"},
		{Change: review.Removed, Kind: "isolation", What: "pristine"}, {Change: review.Added, Kind: "isolation", What: "reused"},
		{Change: review.Removed, Kind: "variable", What: "TOKEN"},
	}
	if diff := cmp.Diff(want, review.CompareGrants(before, after)); diff != "" {
		t.Error(diff)
	}
	if same := review.CompareGrants(after, after); len(same) != 6 || same[0].Change != "" {
		t.Errorf("a grant compared with itself: %v", same)
	}
}
