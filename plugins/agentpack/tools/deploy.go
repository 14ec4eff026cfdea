package tools

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/deploy"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/disk"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/env"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/plan"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/token"
	"github.com/bulkhead-mcp/bulkhead/sdk"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
	"github.com/bulkhead-mcp/bulkhead/sdk/transaction"
)

// lockName is the lock of all calls that write or issue tokens, shared with other servers of the same user.
const lockName = "agentpack"

// maxSample is how many paths an error lists.
const maxSample = 20

// deployed is the payload of deploy and deploy_apply.
type deployed struct {
	Applied    bool   `json:"applied"`
	Reason     string `json:"reason,omitempty"`
	SnapshotID string `json:"snapshot_id,omitempty"`
	planned
	*confirmation
}

// confirmation is what deploy adds to the plan.
type confirmation struct {
	Token     string `json:"confirm_token"`
	PlanHash  string `json:"confirm_plan_hash"`
	ExpiresAt string `json:"confirm_token_expires_at"`
}

// rolledBack is the payload of a rollback.
type rolledBack struct {
	To    string `json:"rolled_back_to"`
	Event string `json:"event_snapshot_id"`
}

// lock excludes other calls that write until this one ends. It precedes all reading.
func lock() error {
	if err := sdk.Lock(lockName); err != nil {
		return fmt.Errorf("wait for other calls that write: %w", err)
	}
	return nil
}

func (c *call) deployer() deploy.Deployer {
	return deploy.Deployer{Env: c.services.Env, FS: privateFS{filesystem.OS{Modes: copyMode}}}
}

// privateFS creates files that only their owner can read, as agentpack does. A file that replaces another one
// gets its mode afterwards.
type privateFS struct{ filesystem.OS }

// Create implements filesystem.FS.
func (f privateFS) Create(path string, mode fs.FileMode) (filesystem.File, error) {
	file, err := f.OS.Create(path, mode)
	if err != nil {
		return nil, err
	}
	if err := makePrivate(path); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// copyMode copies a file's mode through the host, since WASI has no modes.
func copyMode(from, to string) error {
	if _, err := os.Stat(from); err != nil {
		return err // the host's error would not match fs.ErrNotExist
	}
	var mode abi.FileModeResult
	if err := sdk.HostCall(abi.OpFSMode, abi.FileMode{Path: from}, &mode); err != nil {
		return err
	}
	return sdk.HostCall(abi.OpFSMode, abi.FileMode{Path: to, Mode: &mode.Mode}, nil)
}

// recover finishes or rolls back an interrupted call, under the lock, so that this call sees a consistent
// state.
func (c *call) recover() error {
	if err := lock(); err != nil {
		return err
	}
	c.services.Env.Now = c.now() // a token can have expired while the call waited
	note, err := c.deployer().Recover()
	if err != nil {
		return fmt.Errorf("an earlier call was interrupted while it wrote, and cannot be recovered: %w", err)
	}
	if note != "" {
		c.notes = append(c.notes, note)
	}
	c.recovered = true
	return nil
}

// pending warns a call that only reads about an interrupted one.
func (c *call) pending() {
	if c.recovered {
		return
	}
	switch left, err := c.deployer().Applier().Pending(); {
	case err != nil:
		c.warnings = append(c.warnings, fmt.Sprintf("cannot tell whether an earlier call was interrupted while it wrote: %s", err))
	case left:
		c.warnings = append(c.warnings, "a call is writing now, or was interrupted while it wrote: files may be of the old state and of the new one; the next deploy, doctor or call that writes recovers them")
	}
}

// tokenStore returns the store of tokens in the plugin's state directory.
func tokenStore() (token.Store, error) {
	dir := os.Getenv("BULKHEAD_STATE")
	if dir == "" {
		return token.Store{}, errors.New("the plugin has no state directory for the key of confirm tokens")
	}
	return token.Store{Dir: dir, Private: makePrivate}, nil
}

// makePrivate makes a file readable by its owner only.
func makePrivate(path string) error {
	mode := uint32(0o600)
	return sdk.HostCall(abi.OpFSMode, abi.FileMode{Path: path, Mode: &mode}, nil)
}

// binding returns the effective arguments, which a token is bound to.
func (c *call) binding() token.Binding {
	return token.Binding{
		Machine: env.MachineID(c.services.Env, c.machine), Profile: c.profile,
		Repo: c.services.Env.RepoDir(c.repo), Target: c.target,
	}
}

// deployPlan returns a plan and a token for it.
func deployPlan(c *call) (any, error) {
	if err := c.recover(); err != nil {
		return nil, err
	}
	store, err := tokenStore()
	if err != nil {
		return nil, err
	}
	_, computed, err := c.plan()
	if err != nil {
		return nil, err
	}
	hash, err := token.PlanHash(c.binding(), deployed{planned: computed})
	if err != nil {
		return nil, err
	}
	issued, err := store.Issue(c.binding(), hash, c.services.Env.Now)
	if err != nil {
		return nil, err
	}
	return deployed{planned: computed, confirmation: &confirmation{
		Token: issued.Token, PlanHash: hash, ExpiresAt: issued.Expires.UTC().Format(time.RFC3339Nano),
	}}, nil
}

// deployApply carries out the plan that a token was issued for, and no other.
func deployApply(c *call) (any, error) {
	if c.dryRun {
		_, computed, err := c.plan()
		return deployed{planned: computed}, err
	}
	if c.confirmToken == "" {
		_, err := token.Store{}.Check("", c.binding(), c.services.Env.Now)
		return nil, err
	}
	if err := c.recover(); err != nil {
		return nil, err
	}
	store, err := tokenStore()
	if err != nil {
		return nil, err
	}
	result, computed, claim, err := c.confirmed(store)
	if err != nil {
		return nil, err
	}
	if err := checkAdopt(computed.Plan, c.adopt); err != nil {
		return nil, err
	}
	if deploy.IsNoOp(result.State, computed.Plan) {
		return deployed{planned: computed, Reason: "no_changes"}, store.Use(claim, c.services.Env.Now)
	}
	used, err := c.used(store, claim)
	if err != nil {
		return nil, err
	}
	id, err := c.deployer().Apply(deploy.Request{
		State: result.State, Plan: computed.Plan, LockSHA256: result.Lock.SHA256(), Extra: []transaction.Change{used},
	})
	if err != nil {
		return nil, changedFault(err)
	}
	return deployed{Applied: true, SnapshotID: id, planned: computed}, nil
}

// used returns the change that records a token as used. It is part of the deploy's transaction: an
// interrupted call leaves neither a deploy with an unused token nor a used token without a deploy.
func (c *call) used(store token.Store, claim token.Claim) (transaction.Change, error) {
	file, before, after, err := store.Used(claim, c.services.Env.Now)
	change := transaction.Change{Root: store.Dir, Path: file, After: after}
	if before != nil {
		change.Before = disk.SumBytes(before)
	}
	return change, err
}

// confirmed computes the plan again and requires that the caller's token was issued for it.
func (c *call) confirmed(store token.Store) (*plan.Prepared, planned, token.Claim, error) {
	fail := func(err error) (*plan.Prepared, planned, token.Claim, error) {
		return nil, planned{}, token.Claim{}, err
	}
	claim, err := store.Check(c.confirmToken, c.binding(), c.services.Env.Now)
	if err != nil {
		return fail(err)
	}
	result, computed, err := c.plan()
	if err != nil {
		return fail(fault.New(fault.ConfirmTokenMismatch, fault.Details{
			"hint": "fix what prevents the plan, then call deploy again", "expected_confirm_plan_hash": claim.PlanHash(),
		}, "the confirmed plan can no longer be made: %w", err))
	}
	hash, err := token.PlanHash(c.binding(), deployed{planned: computed})
	if err != nil {
		return fail(err)
	}
	if err := claim.Matches(hash); err != nil {
		return fail(err)
	}
	return result, computed, claim, nil
}

// checkAdopt refuses a plan that overwrites unmanaged files, unless the caller has allowed that.
func checkAdopt(planned plan.Plan, adopt bool) error {
	paths := planned.Adopts()
	if adopt || len(paths) == 0 {
		return nil
	}
	return fault.New(fault.AdoptConfirmRequired, fault.Details{
		"flag": "--adopt", "adopt_updates": len(paths), "sample_paths": paths[:min(len(paths), maxSample)],
	}, "%d files that agentpack has not written would be overwritten; call again with adopt = true and the same confirm_token to allow that", len(paths))
}

// changedFault reports a file that changed while the plan was carried out as a mismatch with the confirmed
// plan.
func changedFault(err error) error {
	if !errors.Is(err, transaction.ErrChanged) {
		return err
	}
	return fault.New(fault.ConfirmTokenMismatch, fault.Details{"hint": "call deploy again to see the plan as it is now"}, "%w", err)
}

// rollback restores the state of a snapshot.
func rollback(c *call) (any, error) {
	if err := c.recover(); err != nil {
		return nil, err
	}
	event, warnings, err := c.deployer().Rollback(c.to)
	if err != nil {
		return nil, err
	}
	c.warnings = append(c.warnings, warnings...)
	return rolledBack{To: c.to, Event: event}, nil
}
