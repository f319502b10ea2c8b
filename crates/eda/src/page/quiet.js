// Ends what an earlier run left going in this window: no call of it begins any more, and those under way are
// waited for. Gives how many did not come to an end.
const live = window.__pcbflow?.live;
if (!live || live.over) return { left: 0, went: false };
live.over = true;
const until = Date.now() + INPUT.withinMs;
while (live.pending > 0 && Date.now() < until) await new Promise((resolve) => setTimeout(resolve, 20));
return { left: live.pending, went: true };
