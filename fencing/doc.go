// Package fencing lets a resource behind HTTP refuse the requests of former owners.
//
// A lease ends by time, and a process can be suspended for longer than that, between any two
// instructions. So between "do I still hold the lease?" and the arrival of the request that follows there is
// always a moment in which somebody else may have become the owner. No client can close it. The resource can:
// each request carries the token of its sender's term, tokens only grow, and the resource refuses a token that is
// older than one that it has seen.
//
// # The client
//
//	client := &http.Client{Transport: fencing.Transport(term, nil)}
//
// adds the header to every request, and sends none once the term is over. [Set] adds it to a single request.
//
// # The resource
//
//	handler, err := fencing.Require(next, store, fencing.Config{})
//
// lets a request through where its token is not older than the highest that the [Store] has seen for the key. Handlers find
// the token with [FromContext].
//
//	status                     meaning                                        the client
//	428 Precondition Required  no Fencing-Token header                        sends one
//	400 Bad Request            one that cannot be read, or of another key     is mended
//	412 Precondition Failed    an older token; nothing was done               stops: its term is over, no retry can help
//	409 Conflict               overtaken while it was handled (see below)     stops: whether it was done, the resource knows
//	503 Service Unavailable    the store does not answer; nothing was done    tries again, with the same token
//
// A client that never looks at the status is fenced all the same.
//
// # Check and act
//
// To compare the token at the door is not enough by itself: a request that was let in may still be at work when the next
// owner's arrives. Require closes that within its process. A request with a newer token first waits until those with
// older ones have returned, whose contexts end with cause [ErrStale]; older ones are refused from that moment on.
// So no two handlers of one key run with different tokens at once, and none with an older one after one with a newer.
// A handler whose context has ended so should undo what it can and answer with [Refuse], which makes it 409.
//
// Across processes of the resource this does not hold: there, and wherever the handler's effect can outlast the
// handler, the write itself must compare. Keep the token beside the data:
//
//	UPDATE account SET ..., fence = $token WHERE id = $1 AND fence <= $token
//
// # The gap that is left
//
// A resource can refuse an older token only once it has seen a newer one. Until the new owner's first request, the former
// owner's are let in, as if they had come before the change. Where that matters (a new owner that reads, computes and then writes)
// the new owner begins with a request that writes nothing and carries its token.
//
// # Trust
//
// Whoever may send a token may send a huge one, and lock everybody else out. Authenticate callers before
// Require, as for any other write.
package fencing
