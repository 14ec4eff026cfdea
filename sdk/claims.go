package sdk

import "github.com/bulkhead-mcp/bulkhead/sdk/abi"

// Claims are names of prompts and URIs of resources.
type Claims = abi.Claims

// Claimed returns those of the names and URIs that the manifest of another plugin claims. Who makes prompts
// or resources at call time asks before it makes one: clients would never see one that is claimed. It takes
// at most abi.MaxClaims of both together.
func Claimed(names Claims) (Claims, error) {
	var claimed Claims
	err := HostCall(abi.OpClaims, names, &claimed)
	return claimed, err
}
