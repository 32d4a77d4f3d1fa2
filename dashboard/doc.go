// Package dashboard shows a fleet to people: who holds what, how it got there, and whether anything is
// wrong, in one sentence. It is one http.Handler with a JSON twin for programs.
//
//	page, err := dashboard.New(store, dashboard.Config{Coordinator: c})
//	...
//	mux.Handle("/fleet/", page) // any path that ends in a slash
//	go page.Run(ctx)            // optional: remembers while nobody watches
//
// # What it shows
//
// A sentence on top says how the fleet is. Below it the fleet is a picture: a column for each
// instance, a square for each workload, coloured by its state, and a bar that shrinks from heartbeat to
// heartbeat: when it is empty, the others take over. Then come the instances, the workloads with owner,
// token and last handover, the reasons why a workload is where it is, the balance with the moves that
// the last change of the membership cost beside the least that it could have cost, and a timeline.
//
// All that comes from the store, so any process can serve the page of the whole fleet, also one that runs no
// work. Give it the coordinator of its own process, where there is one ([Config.Coordinator]), and it shows the
// plan and what the workers here are doing as well. What there is to run is the coordinator's catalogue or
// [Config.Catalogue]; without either, the page cannot know what is missing, and says so.
//
// What moves too fast to be seen between two looks is given as a bound ("< 104 ms"). Times of the store and of this
// machine are shown side by side for people, without correcting for clocks that differ.
//
// # Live, or not
//
// With JavaScript the page follows the fleet over server-sent events. Without, it is whole all the same, and the
// browser refreshes it every few seconds (?refresh=SECONDS, 0 for never). Nothing is loaded from elsewhere, and the
// Content-Security-Policy allows nothing inline. It follows the reader's theme, and works from the keyboard and
// with a screen reader.
//
// The store is read while somebody watches, once for all who do, every [Config.Refresh], and by [Page.Run] every
// [Config.Background] and after each of the store's hints. A look is three reads (leases, members, statuses). A store
// that answers slowly is read less often, and one that does not answer leaves the last picture on the page,
// with a sentence that says so. No look holds up the fleet: the page only reads.
//
// # Large fleets
//
// The list is paged and searched here, never in the browser; above 720 workloads a square of the picture
// stands for several, and shows the worst of them.
//
// # The JSON twin
//
// The same path answers a [View] to "Accept: application/json", with the same parameters:
//
//	q       part of a key, a name or an owner
//	owner   ID of an instance
//	state   active, starting, transferring, unowned, inactive, stuck; attention is all but active
//	sort    key (default), owner, since, moves, handover
//	page    from 1; per: rows of a page, 1 to 500, default 25
//	w       a key: adds its details
//
// What it does not understand is refused with 400 and a sentence. "events" beside the page is the live stream: events
// "view" with the HTML of the sections that changed, and "pulse" with the time that each instance has left.
//
// # Who may see it, who may act
//
// The page shows itself to whoever reaches it: mount it behind whatever guards your other internal pages. It is
// read-only unless [Config.Authorize] is set. Then it can mark an instance as draining and revoke a lease, by
// POST alone, never for a browser on another site (http.CrossOriginProtection), and only where
// Authorize agrees.
package dashboard
