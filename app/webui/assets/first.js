// The requests for the first rows and the status, which don't wait until the other modules have come.

import { getAhead } from "./api.js";
import { earlyTab, placeOf, request } from "./place.js";

const place = placeOf(location.hash), tab = earlyTab(place);
if (tab) getAhead(...request(tab, place));
getAhead("/status");
