#pragma once

#include "operator/coordinator/job_session.h"

namespace freezepipe::coordinator {

/// Steps from the end of the window that a choice is made on to the first step that it changes. The
/// lead is at most so far ahead of the coordinator in a healthy run, so that a choice does not
/// depend on timing.
inline constexpr int kDecisionLag = 2;

/// A process whose stream is away this long is ended, seconds.
inline constexpr Seconds kReattachLimit = 10;

/// A worker that may have lived when this coordinator took over, and has not attached within this,
/// is ended once, seconds: it may hang. A job that is to stop waits for it kReattachLimit.
inline constexpr Seconds kTakeOverLimit = 180;

/// A generation that is not prepared within this, while training goes on, is dropped, seconds.
inline constexpr Seconds kPrepareLimit = 60;

/// Workers that have not prepared a restart within this are ended, seconds: they may read weights
/// from disk.
inline constexpr Seconds kRestartPrepareLimit = 600;

/// A worker that has not measured the layers within this is ended, seconds.
inline constexpr Seconds kProfileLimit = 900;

/// A living worker that has not answered Abort within this is ended, seconds: process groups time
/// out after 60.
inline constexpr Seconds kAbortLimit = 70;

/// Workers that train and say nothing for this, or for the time of so many steps as the plan
/// predicts them, with an evaluation between them, whichever is longer, are aborted, seconds: one
/// may hang whose process answers.
inline constexpr Seconds kStallLimit = 600;
inline constexpr int kStallSteps = 100;

/// A worker that has not completed, or found, a checkpoint within this is ended, seconds.
inline constexpr Seconds kCompletionLimit = 300;

/// Workers that left and are back get stages again once all of them are, or, so long after the last
/// change of plan, some, seconds.
inline constexpr Seconds kTakeBackDelay = 60;

/// A released worker that is not gone within this is ended, seconds; after kCompletionLimit if it
/// may be writing its layers of a checkpoint.
inline constexpr Seconds kReleaseLimit = 10;

/// Workers that are not gone within this at the end of the job are ended, seconds.
inline constexpr Seconds kExitLimit = 10;

/// Restarts without progress after which the job fails.
inline constexpr int kRestartLimit = 10;

}  // namespace freezepipe::coordinator
