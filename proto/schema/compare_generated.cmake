# Fails when a committed file is not what the build generates: -DGENERATED=... -DCOMMITTED=...
execute_process(COMMAND ${CMAKE_COMMAND} -E compare_files --ignore-eol ${GENERATED} ${COMMITTED}
  RESULT_VARIABLE different OUTPUT_QUIET ERROR_QUIET)
if(different)
  message(FATAL_ERROR "${COMMITTED} is not what job.proto says. Update it: "
    "cmake --build --preset release --target update-generated, and commit.")
endif()
